"""What the tools ask of the plant's data is answered exactly, by a likeness only where nothing is exact."""

from collections.abc import Callable
from datetime import date, time

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from db.models import Base, Equipment, ManualEntry, RosterEntry, SparePart
from db.queries import plant
from db.session import Database
from tests.helpers.support import only_postgresql

MONDAY, TUESDAY, WEDNESDAY = date(2026, 8, 3), date(2026, 8, 4), date(2026, 8, 5)


def shift(line: str, day: date, name: str = "白班", starts: int = 8, person: str = "李娜") -> RosterEntry:
    return RosterEntry(
        line_name=line,
        shift_date=day,
        shift_name=name,
        starts=time(starts),
        ends=time((starts + 12) % 24),
        person=person,
        phone="",
    )


def entry(code: str, equipment_class: str) -> ManualEntry:
    return ManualEntry(
        fault_code=code,
        code_key=code,
        equipment_class=equipment_class,
        title=code,
        symptoms="",
        causes=["排线松动"],
        safety=[],
        steps=[],
        parts=[],
    )


def equipment(line: str, name: str) -> dict[str, str]:
    return {"line_name": line, "name": name, "equipment_class": "贴合机", "leader": "王班长"}


def fill(database: Database, *rows: Base) -> None:
    with database.writing() as session:
        session.add_all(rows)


def persons(database: Database, line: str, *dates: date) -> list[str]:
    with database.reading() as session:
        found = plant.roster(session, line, dates)
    return [each.person for each in found]


def test_a_code_brings_each_class_that_has_it_and_no_other_code(database: Database) -> None:
    fill(
        database, entry("E401", "贴合机"), entry("E40", "贴合机"), entry("E401", "AOI"), entry("E4010", "AOI")
    )
    with database.reading() as session:
        found = plant.manual_by_code(session, "E401")
        none = plant.manual_by_code(session, "E4")
        everything = plant.manual_all(session)
    assert [each.equipment_class for each in found] == ["AOI", "贴合机"]
    assert found[0].causes == ["排线松动"]
    assert none == []
    assert [each.fault_code for each in everything] == ["E401", "E40", "E401", "E4010"]


def test_the_roster_is_of_the_line_and_of_the_dates_asked_for(database: Database) -> None:
    fill(
        database,
        shift("A线", TUESDAY, "夜班", 20, "night"),
        shift("A线", TUESDAY, "白班", 8, "day"),
        shift("A线", MONDAY, person="monday"),
        shift("A线", WEDNESDAY, person="wednesday"),
        shift("B线", TUESDAY, person="other line"),
    )
    assert persons(database, "A线", MONDAY, TUESDAY) == ["monday", "day", "night"]
    assert persons(database, "A线") == []
    assert persons(database, "C线", TUESDAY) == []


def test_a_line_written_in_another_way_is_found(database: Database) -> None:
    fill(database, shift("交互屏组装A线", TUESDAY), Equipment(**equipment("交互屏组装A线", "贴合机A1")))
    assert persons(database, "交互屏组装 Ａ 线", TUESDAY) == ["李娜"]
    with database.reading() as session:
        found = plant.equipment(session, "交互屏组装ａ线")
    assert [each.name for each in found] == ["贴合机A1"]


def test_a_line_that_stands_there_never_gets_the_shift_of_one_that_looks_like_it(database: Database) -> None:
    fill(database, shift("Line A-1", MONDAY, person="right"), shift("Line A1", TUESDAY, person="wrong"))
    assert persons(database, "Line A-1", TUESDAY) == []
    assert persons(database, "Line A-1", MONDAY, TUESDAY) == ["right"]


def test_parts_come_by_number_with_a_stock_of_nothing_among_them(database: Database) -> None:
    facts = {"name": "触摸屏", "aliases": ["触控屏"], "unit": "块", "location": "A-01", "minimum": 2}
    fill(
        database,
        SparePart(number="SP-2", quantity=0, **facts),
        SparePart(number="SP-1", quantity=7, **facts),
    )
    with database.reading() as session:
        found = plant.parts(session)
    assert [(each.number, each.quantity, each.aliases) for each in found] == [
        ("SP-1", 7, ["触控屏"]),
        ("SP-2", 0, ["触控屏"]),
    ]


def test_parts_that_are_called_by_their_very_number_or_name_are_found_at_once(database: Database) -> None:
    facts = {"aliases": ["甲"], "quantity": 1, "unit": "块", "location": "A-01", "minimum": 2}
    fill(
        database,
        SparePart(number="A1", name="A-2", **facts),
        SparePart(number="A-1", name="触摸屏", **facts),
        SparePart(number="A-2", name="触摸屏", **facts),
    )
    wanted = {
        "A1": ["A1"], "A-1": ["A-1"], "A-2": ["A-2", "A1"], "触摸屏": ["A-1", "A-2"],
        "a-1": [], "甲": [], "": [],
    }  # fmt: skip
    with database.reading() as session:
        found = {name: plant.parts_called(session, name) for name in wanted}
    assert {name: sorted(part.number for part in parts) for name, parts in found.items()} == wanted


@pytest.mark.parametrize("table", ["manual_entry", "roster_entry", "spare_part", "equipment"])
def test_a_missing_table_is_an_error_and_not_an_empty_answer(database: Database, table: str) -> None:
    with database.writing() as session:
        session.execute(text(f"DROP TABLE {table}"))
    asked: dict[str, Callable[[Session], object]] = {
        "manual_entry": lambda session: plant.manual_by_code(session, "E401"),
        "roster_entry": lambda session: plant.roster(session, "A线", [TUESDAY]),
        "spare_part": plant.parts,
        "equipment": lambda session: plant.equipment(session, "A线"),
    }
    with database.reading() as session, pytest.raises(DBAPIError, match=table):
        asked[table](session)


@only_postgresql
def test_a_locked_table_is_an_error_within_the_time_allowed(database: Database) -> None:
    with database.writing() as locking:
        locking.execute(text("LOCK TABLE roster_entry IN ACCESS EXCLUSIVE MODE"))
        with (
            database.reading(timeout_seconds=0.2) as session,
            pytest.raises(DBAPIError, match="statement timeout"),
        ):
            plant.roster(session, "A线", [TUESDAY])
