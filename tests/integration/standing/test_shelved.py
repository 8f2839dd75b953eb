"""Alarms of a shelved fault are kept back, and given their places when that is over."""

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select

from db.models import Shelving
from db.models.alarm import AlarmStatus
from db.queries.standing import shelved
from db.rules import DEFAULT_RULES, FloodLimit, Rules
from db.session import Database
from tests.helpers.faults import (
    LEADS,
    Place,
    alarm_row,
    attached,
    books_balance,
    cleared,
    complete,
    fault,
    minutes,
    order_row,
    ordered,
    places,
    standing,
    stored,
    take_in,
    the_standing,
)
from tests.helpers.support import NOW, claimed

KEPT = Place("shelved", None)

both_ways = pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "in one batch"])


def shelve(database: Database, name: str, until: datetime, **facts: Any) -> int:
    """Shelve the fault of that name, of which an alarm came some time ago and is done with."""
    alarm = fault(name, -1000, **facts)
    take_in(database, alarm, now=minutes(-1000))
    complete(database, ordered(database, alarm, minutes(-1000)), now=minutes(-1000))
    row = alarm_row(database, alarm)
    with database.writing() as session:
        shelving = Shelving(
            fingerprint=row.fingerprint, line_name=row.line_name, equipment=name, fault_code=row.code_key,
            until=until, shelved_by="王芳", why="传感器待更换", shelved_at=NOW,
        )  # fmt: skip
        session.add(shelving)
        session.flush()
        return shelving.id


def release(database: Database, at: float, rules: Rules = DEFAULT_RULES) -> int:
    with database.reading() as session:
        any_over = shelved.any_over(session, minutes(at))
    with database.writing() as session:
        released = shelved.release(session, minutes(at), rules)
        books_balance(session)
    assert any_over == bool(released)
    return released


def shelving_row(database: Database, shelving_id: int) -> Shelving:
    with database.reading() as session:
        return session.get_one(Shelving, shelving_id)


@both_ways
def test_alarms_of_a_shelved_fault_are_kept_back(database: Database, at_once: bool) -> None:
    shelving_id = shelve(database, "A1", minutes(60))
    alarms, other = [fault("A1", number, severity=900) for number in range(3)], fault("A2")
    take_in(database, *alarms, other, at_once=at_once, now=minutes(5))
    assert places(database, *alarms, other) == [KEPT] * 3 + [LEADS]
    assert [alarm_row(database, alarm).shelving_id for alarm in alarms] == [shelving_id] * 3
    assert len(standing(database, "A1")) == 1
    assert release(database, 59) == 0


def test_an_order_that_is_open_is_left_as_it_is_while_its_fault_is_shelved(database: Database) -> None:
    first = fault("A1", 1)
    shelving_id = shelve(database, "A1", minutes(-1))
    take_in(database, first, now=minutes(1))
    with database.writing() as session:
        session.get_one(Shelving, shelving_id).until = minutes(60)
    kept, clear = fault("A1", 3, severity=900), cleared("A1", 4)
    take_in(database, kept, clear, now=minutes(5))
    assert places(database, first, kept, clear) == [LEADS, KEPT, stored(first)]
    row = the_standing(database, "A1")
    assert (row.occurrences, row.severity, row.cleared_at) == (1, 500, minutes(4))


def test_when_the_time_is_over_the_newest_alarm_leads_and_the_older_ones_belong_to_it(
    database: Database,
) -> None:
    shelving_id = shelve(database, "A1", minutes(60))
    older = [fault("A1", 2), fault("A1", 1, severity=900), fault("A1", 4)]
    newest = fault("A1", 9, severity=400)
    take_in(database, older[0], newest, *older[1:], now=minutes(10))
    assert release(database, 60) == 1
    assert release(database, 60) == 0
    shelving = shelving_row(database, shelving_id)
    assert (shelving.ended_at, shelving.ended_by) == (minutes(60), None)
    assert places(database, newest, *older) == [LEADS] + [attached(newest)] * 3
    row = the_standing(database, "A1")
    assert (row.occurrences, row.severity, row.first_at, row.last_at) == (4, 900, minutes(1), minutes(9))
    assert row.opened_at == minutes(60)
    leader = alarm_row(database, newest)
    assert (leader.urgency, leader.shelving_id, leader.next_attempt_at) == (900, shelving_id, minutes(60))
    assert claimed(database, leader.id, minutes(60)) == 1


def test_what_was_kept_back_joins_an_order_that_is_open_by_then(database: Database) -> None:
    shelving_id = shelve(database, "A1", minutes(60))
    kept = [fault("A1", 1, severity=900), fault("A1", 2)]
    take_in(database, *kept, now=minutes(5))
    after = fault("A1", 61, severity=300)
    take_in(database, after, now=minutes(61))
    order_id = ordered(database, after)
    assert release(database, 62) == 1
    assert places(database, after, *kept) == [Place("settled", None)] + [attached(after)] * 2
    row = the_standing(database, "A1")
    assert (row.occurrences, row.severity, row.first_at, row.last_at) == (3, 900, minutes(1), minutes(61))
    order = order_row(database, order_id)
    assert (order.severity, order.priority) == (900, 1)
    assert shelving_row(database, shelving_id).ended_at == minutes(62)


@pytest.mark.parametrize("at", [9, 10], ids=["at its moment", "after it"])
def test_a_fault_that_was_cleared_meanwhile_stays_where_it_is(database: Database, at: float) -> None:
    shelve(database, "A1", minutes(60))
    alarms = [fault("A1", 5), fault("A1", 9)]
    take_in(database, *alarms, cleared("A1", at), now=minutes(10))
    assert release(database, 60) == 1
    assert places(database, *alarms) == [KEPT] * 2
    again = fault("A1", 61)
    take_in(database, again, now=minutes(61))
    assert places(database, again) == [LEADS]
    assert release(database, 70) == 0


def test_a_fault_that_came_back_in_the_second_of_its_clear_gets_its_place(database: Database) -> None:
    shelve(database, "A1", minutes(60))
    older, back = fault("A1", 5), fault("A1", 10)
    take_in(database, older, cleared("A1", 10), back, now=minutes(11))
    assert release(database, 60) == 1
    assert places(database, older, back) == [attached(back), LEADS]


@pytest.mark.parametrize("clear", [cleared("A1", 8), cleared("A1", 10, historical=True), cleared("A2", 10)])
def test_a_clear_that_does_not_count_keeps_nothing_back(database: Database, clear: Any) -> None:
    shelve(database, "A1", minutes(60))
    alarm = fault("A1", 9)
    take_in(database, alarm, clear, now=minutes(10))
    assert release(database, 60) == 1
    assert places(database, alarm) == [LEADS]


def test_a_shelving_that_kept_nothing_back_just_ends(database: Database) -> None:
    shelving_id = shelve(database, "A1", minutes(60))
    assert release(database, 61) == 1
    assert shelving_row(database, shelving_id).ended_at == minutes(61)
    assert [row.equipment for row in standing(database) if row.closed_at is None] == []


def test_whose_time_is_over_keeps_nothing_back_although_it_has_not_been_ended_yet(database: Database) -> None:
    shelve(database, "A1", minutes(60))
    at, before = fault("A1", 60), fault("A1", 59)
    take_in(database, before, now=minutes(59.9))
    take_in(database, at, now=minutes(60))
    assert places(database, before, at) == [KEPT, LEADS]


def test_what_a_person_ended_keeps_nothing_back_although_its_time_is_not_over(database: Database) -> None:
    shelving_id = shelve(database, "A1", minutes(60))
    kept = fault("A1", 1)
    take_in(database, kept, now=minutes(1))
    with database.writing() as session:
        session.get_one(Shelving, shelving_id).ended_by = "李明"
    after = fault("A1", 2)
    take_in(database, after, now=minutes(2))
    assert places(database, kept, after) == [KEPT, LEADS]
    assert release(database, 3) == 1
    assert places(database, kept, after) == [attached(after), LEADS]
    shelving = shelving_row(database, shelving_id)
    assert (shelving.until, shelving.ended_at, shelving.ended_by) == (minutes(60), minutes(3), "李明")


def test_historical_alarms_are_not_kept_back_they_are_stored(database: Database) -> None:
    shelve(database, "A1", minutes(60))
    alarm = fault("A1", historical=True)
    take_in(database, alarm)
    assert places(database, alarm) == [stored()]
    assert alarm_row(database, alarm).shelving_id is None


def test_a_released_alarm_joins_the_flood_that_its_line_was_in(database: Database) -> None:
    rules = Rules(flood_limit=FloodLimit(2, minutes(10) - NOW))
    shelve(database, "A1", minutes(60))
    kept = fault("A1", 1)
    flood = [fault(f"B{number}", 2) for number in range(4)]
    take_in(database, kept, *flood, now=minutes(3), rules=rules)
    assert release(database, 60, rules) == 1
    assert places(database, *flood, kept) == [LEADS] * 3 + [attached(flood[2])] * 2


def test_several_shelvings_end_at_once(database: Database) -> None:
    for number in range(3):
        shelve(database, f"A{number}", minutes(60 + number), line_name=f"line {number}")
    alarms = [fault(f"A{number}", number, line_name=f"line {number}") for number in range(3)]
    take_in(database, *alarms, now=minutes(5))
    assert release(database, 61) == 2
    assert places(database, *alarms) == [LEADS, LEADS, KEPT]
    with database.reading() as session:
        assert len(session.scalars(select(Shelving).where(Shelving.ended_at.is_(None))).all()) == 1
    assert alarm_row(database, alarms[2]).status is AlarmStatus.SHELVED
