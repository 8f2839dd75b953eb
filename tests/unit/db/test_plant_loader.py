"""The plant's files: how they are loaded, and what each file may hold."""

import csv
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from db.errors import PlantDataError
from db.models import Base, Equipment, ManualEntry, RosterEntry, SparePart
from db.plant import load
from db.session import Database
from tests.helpers.plant_files import HEADERS, REAL_DATA
from tests.helpers.support import NOW, ZONE, at_once


def test_today_is_the_plants_day_and_not_that_of_utc(database: Database) -> None:
    late = datetime(2026, 8, 4, 17, 0, tzinfo=UTC)  # 01:00 of the 5th in Shanghai
    load(database, None, ZONE, late)
    with database.reading() as session:
        bounds = select(func.min(RosterEntry.shift_date), func.max(RosterEntry.shift_date))
        assert session.execute(bounds).one() == (date(2026, 8, 3), date(2026, 8, 19))


def test_loading_replaces_what_was_loaded_before(database: Database, folder: Path) -> None:
    load(database, None, ZONE, NOW)
    (folder / "roster.csv").write_text(HEADERS["roster.csv"] + "\n")
    (folder / "equipment.csv").write_text(HEADERS["equipment.csv"] + "\nL1,M1,press,Ann\n")
    rows = load(database, folder, ZONE, NOW)
    assert (rows["roster_entry"], rows["equipment"]) == (0, 1)
    with database.reading() as session:
        assert session.scalars(select(RosterEntry)).all() == []
        assert [one.name for one in session.scalars(select(Equipment))] == ["M1"]


def test_nothing_is_changed_when_one_of_the_files_is_wrong(database: Database, folder: Path) -> None:
    before = load(database, None, ZONE, NOW)
    (folder / "equipment.csv").write_text(HEADERS["equipment.csv"] + "\nL1,M1,press,Ann\n")
    (folder / "spare_parts.csv").write_text(HEADERS["spare_parts.csv"] + "\nX,Y,,-1,pcs,,0\n")
    with pytest.raises(PlantDataError):
        load(database, folder, ZONE, NOW)
    assert _counts(database) == before


def test_nothing_is_changed_when_the_database_refuses_in_the_middle(database: Database) -> None:
    before = load(database, None, ZONE, NOW)
    with database.writing() as session:
        session.execute(text("ALTER TABLE spare_part RENAME COLUMN minimum TO least"))
    with pytest.raises(Exception, match="minimum"):
        load(database, None, ZONE, NOW)
    assert _counts(database) == before


def test_loads_at_once_leave_one_plant(database: Database) -> None:
    loaded = at_once(lambda _: load(database, None, ZONE, NOW), range(4))
    assert all(rows == loaded[0] for rows in loaded)
    assert _counts(database) == loaded[0]


@pytest.mark.parametrize(
    "rewrite",
    [
        pytest.param(lambda raw: b"\xef\xbb\xbf" + raw, id="byte order mark"),
        pytest.param(lambda raw: raw.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(lambda raw: raw.replace(b"\n", b"\n\n") + b",,,\n", id="blank lines"),
        pytest.param(lambda raw: raw.replace(b"\n", b" ,\n"), id="an empty last column"),
        pytest.param(lambda raw: raw.upper().split(b"\n")[0] + raw[raw.index(b"\n") :], id="capitals"),
    ],
)
def test_what_spreadsheets_do_to_a_file_does_not_matter(
    database: Database, folder: Path, rewrite: Callable[[bytes], bytes]
) -> None:
    file = folder / "equipment.csv"
    file.write_bytes(rewrite(file.read_bytes()))
    load(database, folder, ZONE, NOW)
    with database.reading() as session:
        names = list(session.scalars(select(Equipment.leader).order_by(Equipment.id)))
    assert names[0] == "王建国"
    assert len(names) == 9


def test_columns_may_stand_in_any_order(database: Database, folder: Path) -> None:
    (folder / "equipment.csv").write_text("leader,name,line_name,equipment_class\nAnn,M1,L1,press\n")
    load(database, folder, ZONE, NOW)
    with database.reading() as session:
        one = session.scalars(select(Equipment)).one()
    assert (one.leader, one.name, one.line_name, one.equipment_class) == ("Ann", "M1", "L1", "press")


@pytest.mark.parametrize(
    ("written", "first", "last", "count"),
    [
        ("2026-01-31", date(2026, 1, 31), date(2026, 1, 31), 1),
        ("2026/2/1", date(2026, 2, 1), date(2026, 2, 1), 1),
        ("today", date(2026, 8, 4), date(2026, 8, 4), 1),
        ("Today + 1", date(2026, 8, 5), date(2026, 8, 5), 1),
        ("today-4..2026-08-01", date(2026, 7, 31), date(2026, 8, 1), 2),
        ("2024-01-01..2024-12-31", date(2024, 1, 1), date(2024, 12, 31), 366),
    ],
)
def test_dates_may_be_absolute_relative_or_a_range(
    database: Database, folder: Path, written: str, first: date, last: date, count: int
) -> None:
    (folder / "roster.csv").write_text(f"{HEADERS['roster.csv']}\nL1,{written},day,8:00,24:00,Ann,\n")
    load(database, folder, ZONE, NOW)
    with database.reading() as session:
        rows = list(session.scalars(select(RosterEntry).order_by(RosterEntry.shift_date)))
    assert (rows[0].shift_date, rows[-1].shift_date, len(rows)) == (first, last, count)
    assert (rows[0].starts, rows[0].ends) == (time(8), time(0))


def test_codes_that_classes_share_do_not_stand_twice(database: Database, folder: Path) -> None:
    (folder / "manual.csv").write_text(
        f"{HEADERS['manual.csv']}\nE401,a,t,,,,,\nE401,b,t,,,,,\nE0401,a,t,,,,,\n"
    )
    assert load(database, folder, ZONE, NOW)["manual_entry"] == 3


def test_text_may_be_as_long_as_its_column(database: Database, folder: Path) -> None:
    row = f"{'线' * 200},{'机' * 200},{'类' * 200},{'人' * 200}"
    (folder / "equipment.csv").write_text(f"{HEADERS['equipment.csv']}\n{row}\n", encoding="utf-8")
    assert load(database, folder, ZONE, NOW)["equipment"] == 1


# Real files of a plant


@pytest.mark.skipif(not REAL_DATA.is_dir(), reason="the real files are not beside this repository")
def test_a_real_parts_list_loads_once_its_columns_are_named(database: Database, folder: Path) -> None:
    with (REAL_DATA / "spare_parts.csv").open(encoding="utf-8", newline="") as source:
        real = list(csv.DictReader(source))
    with (folder / "spare_parts.csv").open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target)
        writer.writerow(HEADERS["spare_parts.csv"].split(","))
        for row in real:
            writer.writerow(
                [row["型号"], row["备件名称"], row["规格"], row["数量"], row["单位"], "", row["最小库存"]]
            )
    assert load(database, folder, ZONE, NOW)["spare_part"] == len(real)
    with database.reading() as session:
        screen = session.scalars(select(SparePart).where(SparePart.name == "触摸屏")).one()
    assert (screen.number, screen.quantity, screen.unit, screen.aliases) == (
        "WEINVIEW-MT8071iP",
        0,
        "台",
        ["7寸"],
    )


def _counts(database: Database) -> dict[str, int]:
    tables: tuple[type[Base], ...] = (Equipment, ManualEntry, RosterEntry, SparePart)
    with database.reading() as session:
        return {
            table.__tablename__: session.scalar(select(func.count()).select_from(table)) or 0
            for table in tables
        }
