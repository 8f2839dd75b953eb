"""The judge of the fault suite: books that balance are let pass, and whatever is wrong in them is seen."""

from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import text

from db.session import Database
from producers.events import AlarmEvent
from tests.chaos.books import Books, audited
from tests.chaos.feeder import Identity
from tests.helpers.support import NOW, accepted, an_alarm, claimed, settled

SOURCE = "a fault"


def event(event_id: str, equipment: str, **facts: Any) -> AlarmEvent:
    named = {"source": SOURCE, "event_id": event_id, "line_name": "交互屏组装A线", "fault_code": "E401"}
    return AlarmEvent(**(named | {"equipment": equipment, "occurred_at": NOW} | facts))


EVENTS = (
    event("1", "贴合机 #1"),
    event("2", "贴合机 #2"),
    event("3", "贴合机 #1"),  # a repeat of the first
    event("4", "贴合机 #2", state="cleared"),
)
CONFIRMED: Mapping[Identity, AlarmEvent] = {(one.source, one.event_id): one for one in EVENTS}


@pytest.fixture
def line(database: Database) -> Database:
    """Two orders, of which one has an occurrence more, and a cleared event."""
    names = ("source", "event_id", "line_name", "equipment", "fault_code", "state", "occurred_at")
    alarms = [an_alarm(**{name: getattr(one, name) for name in names}) for one in EVENTS]
    first, second, *_ = accepted(database, *alarms)
    for alarm_id in (first, second):
        settled(database, alarm_id, claimed(database, alarm_id))
    return database


def judged(database: Database, confirmed: Mapping[Identity, AlarmEvent] = CONFIRMED) -> Books:
    with database.reading() as session:
        return audited(session, confirmed, SOURCE)


def test_books_that_balance(line: Database) -> None:
    books = judged(line)
    assert books.balance, books
    assert (books.accepted, books.orders, books.attached, books.cleared) == (3, 2, 1, 1)


@pytest.mark.parametrize("state", ["active", "cleared"])
def test_an_event_that_never_came_is_lost(line: Database, state: str) -> None:
    gone = event("5", "贴合机 #3", state=state)
    (lost,) = judged(line, {**CONFIRMED, (SOURCE, "5"): gone}).lost
    assert "not in the database" in lost


@pytest.mark.parametrize("status", ["waiting", "dispatched", "running", "poison"])
def test_an_alarm_that_waits_for_its_order_is_lost(line: Database, status: str) -> None:
    _change(line, f"UPDATE alarm SET status = '{status}', work_order_id = NULL WHERE event_id = '2'")
    (lost,) = judged(line).lost
    assert f"2: {status}" in lost


def test_an_occurrence_of_what_has_no_order_is_lost(line: Database) -> None:
    _change(line, "UPDATE alarm SET status = 'waiting', work_order_id = NULL WHERE event_id = '1'")
    assert len(judged(line).lost) == 2


def test_a_cleared_event_that_is_taken_for_an_alarm_is_seen(line: Database) -> None:
    _change(line, "UPDATE alarm SET status = 'waiting' WHERE event_id = '4'")
    assert judged(line).amiss


@pytest.mark.parametrize(
    "statement",
    [
        # two orders of one alarm, one of which nobody owns
        "UPDATE work_order SET event_id = '1'",
        # two alarms of one order
        "UPDATE alarm SET work_order_id = (SELECT min(id) FROM work_order) WHERE event_id = '2'",
        # two open orders of one fault
        "UPDATE alarm SET fingerprint = 'the same' WHERE event_id IN ('1', '2')",
        # an alarm that two runs have settled
        "UPDATE agent_run SET alarm_id = (SELECT min(id) FROM alarm), attempt = alarm_id",
        # an order that no alarm opened
        "UPDATE alarm SET work_order_id = NULL WHERE event_id = '2'",
    ],
)
def test_what_was_done_twice_is_seen(line: Database, statement: str) -> None:
    _change(line, statement)
    assert judged(line).doubled


@pytest.mark.parametrize(
    "statement",
    ["UPDATE work_order SET sequence = 3 WHERE sequence = 2", "UPDATE order_counter SET last = 3"],
)
def test_a_gap_in_the_numbers_is_seen(line: Database, statement: str) -> None:
    _change(line, statement)
    assert judged(line).amiss


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE standing_alarm SET occurrences = occurrences + 1",
        "DELETE FROM standing_alarm WHERE equipment = '贴合机 #2'",
        "UPDATE alarm SET leader_id = NULL WHERE event_id = '3'",
    ],
)
def test_occurrences_that_are_not_counted_are_seen(line: Database, statement: str) -> None:
    _change(line, statement)
    assert judged(line).amiss


def test_another_source_is_not_in_the_books(line: Database) -> None:
    with line.reading() as session:
        assert audited(session, CONFIRMED, "another").accepted == 0
        assert audited(session, CONFIRMED).accepted == 3


def test_failures_are_counted(line: Database) -> None:
    _change(line, "UPDATE alarm SET failures = 2 WHERE event_id = '1'")
    assert judged(line).failures == 2


def _change(database: Database, statement: str) -> None:
    with database.writing() as session:
        session.execute(text(statement))
