"""Two transactions that meet at a fault go one after the other, in either order, and the second one sees what
the first one did."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from db.codes import fingerprint
from db.errors import FaultHeld
from db.models import Flood, Shelving, StandingAlarm, WorkOrder
from db.models.standing import StandingStatus
from db.queries.alarms.intake import NewAlarm, accept
from db.queries.alarms.settle import settle
from db.queries.orders.transitions import set_status
from db.queries.standing import floods, shelved
from db.queries.standing.lines import lock_lines
from db.rules import DEFAULT_RULES, FloodLimit, Rules
from db.session import Database
from tests.helpers.faults import (
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
    take_in,
    the_standing,
)
from tests.helpers.support import (
    NOW,
    ZONE,
    an_order,
    broken_off,
    claimed,
    entries,
    eventually,
    only_postgresql,
)

pytestmark = only_postgresql


@pytest.mark.parametrize("first_one", ["settlement", "intake"])
def test_whichever_of_settlement_and_worse_occurrence_waits_sees_the_other(
    database: Database, first_one: str
) -> None:
    """Both orders for certain: the second one is let go only when it is seen to wait."""
    first, worse = fault("A1", severity=300), fault("A1", severity=850)
    take_in(database, first)
    row = alarm_row(database, first)
    attempt = claimed(database, row.id)

    def settlement(session: Any) -> None:
        settle(session, row.id, attempt, an_order(), NOW, ZONE)

    def raising(session: Any) -> None:
        accept(session, entries([worse]), [], NOW)

    order_of_things = [settlement, raising] if first_one == "settlement" else [raising, settlement]
    in_turn(database, *order_of_things)
    with database.reading() as session:
        [order] = session.scalars(select(WorkOrder))
        assert (order.severity, order.priority) == (850, 1)


def in_turn(database: Database, first: Any, second: Any) -> None:
    """Two scopes: the first one has done its work and commits when the second one is waiting for it."""

    def other() -> None:
        with database.writing() as session:
            second(session)

    def waits() -> bool:
        with database.reading() as session:
            return bool(session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")))

    with ThreadPoolExecutor(1) as threads:
        with database.writing() as session:
            first(session)
            doing = threads.submit(other)
            eventually(lambda: waits() or doing.done(), 20)
            assert not doing.done(), "it did not wait"
        doing.result(20)


@pytest.mark.parametrize("first_one", ["end", "intake"])
def test_an_occurrence_and_the_end_of_its_order_go_one_after_the_other(
    database: Database, first_one: str
) -> None:
    first, again = fault("A1"), fault("A1")
    take_in(database, first)
    order_id = ordered(database, first)
    move(database, order_id, "Ready", "Dispatched", "Running")

    def end(session: Any) -> None:
        set_status(session, order_id, "Completed", "王芳", "", NOW)

    def occur(session: Any) -> None:
        accept(session, entries([again]), [], NOW)

    in_turn(database, *([end, occur] if first_one == "end" else [occur, end]))
    led = places(database, again)[0].status == "waiting"
    assert led == (first_one == "end")
    with database.reading() as session:
        books_balance(session)
        open_ones = session.scalars(select(StandingAlarm).where(StandingAlarm.status == StandingStatus.OPEN))
        assert len(open_ones.all()) == (1 if led else 0)


@pytest.mark.parametrize("first_one", ["reopening", "refire"])
def test_a_refire_and_the_reopening_of_its_order_go_one_after_the_other(
    database: Database, first_one: str
) -> None:
    first, again = fault("A1"), fault("A1")
    take_in(database, first)
    order_id = ordered(database, first)
    complete(database, order_id)

    def reopen(session: Any) -> None:
        set_status(session, order_id, "Running", "王芳", "", NOW)

    def refire(session: Any) -> None:
        accept(session, entries([again]), [], NOW)

    if first_one == "reopening":
        in_turn(database, reopen, refire)
        assert places(database, again) == [attached(first)]
    else:
        with pytest.raises(FaultHeld):
            in_turn(database, refire, reopen)
        assert order_row(database, order_id).status == "Completed"
        assert the_standing(database, "A1").leader_id == alarm_row(database, again).id


def shelve(database: Database, alarm: NewAlarm, until: datetime) -> None:
    own = fingerprint(alarm.line_name, alarm.equipment, alarm.fault_code)
    with database.writing() as session:
        session.add(
            Shelving(
                fingerprint=own, line_name=alarm.line_name, equipment=alarm.equipment, fault_code="E401",
                until=until, shelved_by="王芳", why="", shelved_at=NOW,
            )
        )  # fmt: skip


@pytest.mark.parametrize("first_one", ["release", "intake"])
def test_an_alarm_that_meets_the_end_of_its_shelving_is_not_kept_back_for_ever(
    database: Database, first_one: str
) -> None:
    """The clocks of two workers differ: for the one the time is over, for the other it is not."""
    first, second = fault("A1", 1), fault("A1", 2)
    take_in(database, first)
    complete(database, ordered(database, first))
    shelve(database, first, minutes(10))

    def release(session: Any) -> None:
        assert shelved.release(session, minutes(10), DEFAULT_RULES) == 1

    def occur(session: Any) -> None:
        accept(session, entries([second]), [], minutes(9))

    in_turn(database, *([release, occur] if first_one == "release" else [occur, release]))
    assert places(database, second)[0].status == "waiting"


def test_a_clear_that_meets_the_end_of_a_shelving_is_seen(database: Database) -> None:
    first = fault("A1", 1)
    shelve(database, first, minutes(10))
    take_in(database, first, now=minutes(2))

    def clear(session: Session) -> None:
        accept(session, entries([cleared("A1", 5)]), [], minutes(9))

    def release(session: Session) -> None:
        shelved.release(session, minutes(10), DEFAULT_RULES)

    in_turn(database, clear, release)
    assert places(database, first)[0].status == "shelved"


def test_alarms_that_meet_the_end_of_their_flood_keep_it_going(database: Database) -> None:
    rules = Rules(flood_limit=FloodLimit(2, timedelta(minutes=10)))
    take_in(database, *(fault(f"A{number}") for number in range(4)), rules=rules)

    def more(session: Session) -> None:
        accept(session, entries(fault(f"B{number}", 14) for number in range(2)), [], minutes(14), rules)

    def end(session: Session) -> None:
        assert floods.any_over(session, minutes(15), rules)
        floods.end(session, minutes(15), rules)

    in_turn(database, more, end)
    with database.reading() as session:
        assert session.scalars(select(Flood.ended_at)).all() == [None]


def meet_in_the_middle(database: Database, do: Callable[[Session, list[str]], None]) -> None:
    """Two that do it with the lines in opposite orders, while a third one holds what is in the middle: both
    have begun when that one lets go."""
    lines = [f"line {number}" for number in range(5)]

    def one(order: list[str]) -> None:
        with database.writing() as session:
            do(session, order)

    def both_wait() -> bool:
        with database.reading() as session:
            return bool(session.scalar(text("SELECT count(*) = 2 FROM pg_locks WHERE NOT granted")))

    for middle in lines:
        with ThreadPoolExecutor(2) as threads:
            with broken_off(database) as session:
                do(session, [middle])
                doing = [threads.submit(one, order) for order in (lines, lines[::-1])]
                eventually(both_wait, 20)
            wait(doing)
            assert [each.exception() for each in doing] == [None, None]


def test_lines_are_held_in_one_order_however_they_are_named(database: Database) -> None:
    meet_in_the_middle(database, lock_lines)


def test_two_intakes_that_meet_in_the_middle_of_their_lines_do_not_break_each_other_off(
    database: Database,
) -> None:
    def take(session: Session, order: list[str]) -> None:
        accept(session, entries(fault("A1", line_name=line) for line in order), [], NOW)

    meet_in_the_middle(database, take)
    with database.reading() as session:
        assert session.scalars(select(StandingAlarm.occurrences)).all() == [10] * 5
