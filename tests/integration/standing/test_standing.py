"""A fault has one order while that is open: what comes of it in the meantime belongs to it."""

from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.event import listen

from db.models import Alarm, StandingAlarm, WorkOrder
from db.models.order import OrderStatus
from db.models.standing import StandingStatus
from db.queries.alarms.intake import accept
from db.queries.orders.reading import show
from db.rules import Rules
from db.session import Database
from tests.helpers.faults import (
    LEADS,
    alarm_row,
    attached,
    books_balance,
    cleared,
    complete,
    fault,
    minutes,
    move,
    order_row,
    ordered,
    places,
    standing,
    stored,
    take_in,
    the_standing,
)
from tests.helpers.support import NOW, an_alarm, broken_off, count, entries

both_ways = pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "in one batch"])


@both_ways
def test_alarms_of_one_fault_belong_to_the_first_that_came(database: Database, at_once: bool) -> None:
    first, early, late = fault("A1", 5), fault("A1", 1, severity=300), fault("A1", 9)
    other = fault("A2")
    take_in(database, first, early, other, late, at_once=at_once, now=minutes(10))
    assert places(database, first, early, other, late) == [LEADS, attached(first), LEADS, attached(first)]
    row = the_standing(database, "A1")
    assert (row.occurrences, row.severity, row.first_at, row.last_at) == (3, 500, minutes(1), minutes(9))
    assert (row.opened_at, row.closed_at, row.cleared_at, row.repeat_of) == (minutes(10), None, None, None)
    assert (row.line_name, row.line_key, row.fault_code) == ("交互屏组装A线", "交互屏组装a线", "E401")
    assert the_standing(database, "A2").occurrences == 1


def test_a_fault_written_otherwise_is_the_same_fault(database: Database) -> None:
    first = fault("A1", fault_code="E401", line_name="SMT Line 1")
    same = [
        fault("Ａ1", fault_code="err 401", line_name="smt-line 1"),
        fault("a-1", fault_code="e-401", line_name="SMT　LINE １"),
    ]
    take_in(database, first, *same)
    assert places(database, *same) == [attached(first)] * 2
    [row] = standing(database)
    assert (row.equipment, row.fault_code, row.line_name) == ("A1", "E401", "SMT Line 1")


def test_alarms_without_equipment_are_one_fault_a_code_and_line(database: Database) -> None:
    first, again, other_line = fault(""), fault(""), fault("", line_name="交互屏组装B线")
    take_in(database, first, again, other_line)
    assert places(database, first, again, other_line) == [LEADS, attached(first), LEADS]


def test_a_repeated_delivery_is_no_occurrence(database: Database) -> None:
    alarm = fault("A1")
    take_in(database, alarm, alarm, fault("A1"), alarm)
    assert the_standing(database, "A1").occurrences == 2
    assert count(database, Alarm) == 2


def test_an_occurrence_belongs_to_its_order_while_that_is_open(database: Database) -> None:
    first = fault("A1")
    take_in(database, first)
    order_id = ordered(database, first)
    for status in ("Ready", "Dispatched", "Running", "Held"):
        again = fault("A1")
        take_in(database, again)
        assert places(database, again) == [attached(first)]
        move(database, order_id, status)
    with database.reading() as session:
        assert show(session, again.event_id)["order_id"] == order_id


@both_ways
@pytest.mark.parametrize("end", ["Completed", "Cancelled"])
def test_a_fault_that_comes_back_after_its_order_ended_opens_a_new_one(
    database: Database, end: str, at_once: bool
) -> None:
    first = fault("A1")
    take_in(database, first)
    order_id = ordered(database, first)
    if end == "Completed":
        complete(database, order_id, now=minutes(30))
    else:
        move(database, order_id, "Cancelled", now=minutes(30))
    [old] = standing(database, "A1")
    assert (old.status, old.closed_at) == (StandingStatus.CLOSED, minutes(30))
    again, more = fault("A1", 40), fault("A1", 41)
    take_in(database, again, more, now=minutes(41), at_once=at_once)
    assert places(database, again, more) == [LEADS, attached(again)]
    assert the_standing(database, "A1").repeat_of == order_row(database, order_id).id
    move(database, order_id, "Closed", now=minutes(50))
    assert the_standing(database, "A1").occurrences == 2
    assert standing(database, "A1")[0].closed_at == minutes(30)
    with database.reading() as session:
        books_balance(session)


@pytest.mark.parametrize(
    ("hours", "after", "linked"),
    [(8, timedelta(hours=8), True), (8, timedelta(hours=8, seconds=1), False), (0, timedelta(0), False)],
)
def test_a_refire_is_a_repeat_within_the_window_only(
    database: Database, hours: float, after: timedelta, linked: bool
) -> None:
    first = fault("A1")
    take_in(database, first)
    order_id = ordered(database, first)
    complete(database, order_id)
    again = fault("A1")
    take_in(database, again, now=NOW + after, rules=Rules(repeat_window=timedelta(hours=hours)))
    assert the_standing(database, "A1").repeat_of == (order_row(database, order_id).id if linked else None)


def test_a_repeat_is_one_of_the_last_order(database: Database) -> None:
    for _ in range(3):
        alarm = fault("A1")
        take_in(database, alarm, fault("A2"))
        order_id = ordered(database, alarm)
        complete(database, order_id)
    take_in(database, fault("A1"))
    assert the_standing(database, "A1").repeat_of == order_row(database, order_id).id
    assert the_standing(database, "A2").repeat_of is None


def test_historical_events_are_kept_and_touch_nothing(database: Database) -> None:
    early = fault("A1", historical=True)
    first, again = fault("A1", 1), fault("A1", 2, historical=True, severity=1000)
    clear = cleared("A1", 3, historical=True)
    take_in(database, early, first, again, clear)
    assert places(database, early, first, again, clear) == [stored(), LEADS, stored(), stored()]
    row = the_standing(database, "A1")
    assert (row.occurrences, row.severity, row.last_at, row.cleared_at) == (1, 500, minutes(1), None)


def test_nothing_stands_of_a_batch_that_is_rolled_back(database: Database) -> None:
    batch = entries([fault("A1"), fault("A1"), cleared("A1")])
    with broken_off(database) as session:
        accept(session, batch, [], NOW)
    assert standing(database) == []
    with database.writing() as session:
        accept(session, batch, [], NOW)
    assert the_standing(database, "A1").occurrences == 2


def test_an_alarm_without_a_standing_one_is_worked_through(database: Database) -> None:
    """A worker of the version before writes no standing alarm, and it may run on beside this one."""
    old = fault("A1")
    take_in(database, old)
    with database.writing() as session:
        for row in session.scalars(select(StandingAlarm)):
            session.delete(row)
    order_id = ordered(database, old)
    again = fault("A1")
    take_in(database, again)
    assert places(database, again) == [LEADS]
    complete(database, order_id)
    assert the_standing(database, "A1").leader_id == alarm_row(database, again).id


def test_a_fault_is_not_held_by_an_order_that_an_older_version_ended(database: Database) -> None:
    """That one does not close standing alarms: what came of the fault would belong to an order that nobody
    looks at any more."""
    first = fault("A1")
    take_in(database, first)
    order_id = ordered(database, first)
    with database.writing() as session:
        row = session.scalars(select(WorkOrder).where(WorkOrder.order_id == order_id)).one()
        row.status = OrderStatus.COMPLETED
    again, more = fault("A1"), fault("A1")
    take_in(database, again, more, at_once=True)
    assert places(database, again, more) == [LEADS, attached(again)]
    closed, now_open = standing(database, "A1")
    assert (closed.status, closed.closed_at) == (StandingStatus.CLOSED, NOW)
    assert now_open.repeat_of == order_row(database, order_id).id


def test_alarms_of_the_default_kind_each_open_an_order(database: Database) -> None:
    alarms = [an_alarm() for _ in range(3)]
    take_in(database, *alarms)
    assert places(database, *alarms) == [LEADS] * 3


def test_a_batch_costs_few_statements_however_many_alarms_are_in_it(database: Database) -> None:
    """A line that stopped raises the same few faults again and again, hundreds in a second."""
    take_in(database, *(fault(f"A{number}") for number in range(40)), at_once=True)
    ran: list[str] = []
    listen(
        database.engine, "before_cursor_execute", lambda _conn, _cursor, statement, *_: ran.append(statement)
    )
    for size in (50, 500):
        ran.clear()
        take_in(database, *(fault(f"A{number % 40}", 1 + number) for number in range(size)), at_once=True)
        assert len(ran) <= 8, ran
