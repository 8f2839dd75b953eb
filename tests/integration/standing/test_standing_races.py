"""Several intakes, settlements and people at once: one leader a fault, one order, and nobody broken off."""

import random
from collections import Counter
from datetime import timedelta
from itertools import groupby
from typing import Any

import pytest
from sqlalchemy import func, select

from db.models import Alarm, Flood, StandingAlarm, WorkOrder
from db.models.alarm import AlarmStatus
from db.models.standing import StandingStatus
from db.queries.alarms.intake import NewAlarm, accept
from db.queries.alarms.settle import settle
from db.rules import DEFAULT_RULES, FloodLimit, Rules
from db.session import Database
from tests.helpers.faults import (
    alarm_row,
    books_balance,
    cleared,
    fault,
    minutes,
    move,
    ordered,
    take_in,
    the_standing,
)
from tests.helpers.support import (
    NOW,
    ZONE,
    an_order,
    at_once,
    claimed,
    entries,
)


def intake(database: Database, batch: list[NewAlarm], rules: Rules = DEFAULT_RULES) -> None:
    with database.writing() as session:
        accept(session, entries(batch), [], NOW, rules)


def leaders(database: Database) -> Counter[str]:
    """How many alarms of each fault lead to an order."""
    query = select(Alarm.equipment).where(Alarm.status == AlarmStatus.WAITING)
    with database.reading() as session:
        return Counter(session.scalars(query))


def test_alarms_of_one_fault_from_eight_intakes_at_once_have_one_leader(database: Database) -> None:
    for number in range(12):
        name = f"A{number}"
        at_once(lambda alarm: intake(database, [alarm]), [fault(name, who) for who in range(8)])
        assert the_standing(database, name).occurrences == 8
    assert leaders(database) == {f"A{number}": 1 for number in range(12)}


def test_batches_of_the_same_faults_and_alarms_in_any_order_have_one_leader_each(database: Database) -> None:
    """Each alarm is delivered three times over, as by producers that each send all of them."""
    lines = ["line 1", "line 2", "line 3"]
    alarms = [
        fault(
            f"A{number % 20}", number, line_name=random.Random(number % 20).choice(lines), severity=number + 1
        )
        for number in range(120)
    ]
    alarms += [cleared(f"A{number}", 500, line_name=alarms[number].line_name) for number in range(20)]

    def deliver(seed: int) -> None:
        own = list(alarms)
        random.Random(seed).shuffle(own)
        for _, batch in groupby(enumerate(own), lambda each: each[0] // 25):
            intake(database, [alarm for _, alarm in batch])

    at_once(deliver, range(6))
    assert leaders(database) == {f"A{number}": 1 for number in range(20)}
    with database.reading() as session:
        books_balance(session)
        rows = session.scalars(select(StandingAlarm)).all()
        assert {row.occurrences for row in rows} == {6}
        assert {row.cleared_at for row in rows} == {minutes(500)}
        urgencies = session.scalars(
            select(func.coalesce(Alarm.urgency, Alarm.severity)).where(Alarm.status == AlarmStatus.WAITING)
        )
        assert sorted(urgencies) == list(range(101, 121))


def test_orders_that_end_while_their_faults_come_back_lose_none(database: Database) -> None:
    """Each occurrence belongs to the order that was open, or leads to the next one."""
    names = [f"A{number}" for number in range(4)]
    for name in names:
        alarm = fault(name)
        take_in(database, alarm)
        move(database, ordered(database, alarm), "Ready", "Dispatched", "Running")
    for turn in range(5):
        with database.reading() as session:
            running = session.scalars(select(WorkOrder.order_id).where(WorkOrder.status == "Running")).all()
        work: list[Any] = [("end", order_id) for order_id in running]
        work += [
            ("intake", [fault(name) for name in random.Random(turn + who).sample(names, 4)])
            for who in range(4)
        ]

        def do(one: Any) -> None:
            kind, what = one
            move(database, what, "Completed") if kind == "end" else intake(database, what)

        at_once(do, work)
        with database.reading() as session:
            books_balance(session)
            open_ones = session.scalars(
                select(StandingAlarm).where(StandingAlarm.status == StandingStatus.OPEN)
            )
            by_name = {row.equipment: row.leader_id for row in open_ones}
            waiting = session.scalars(select(Alarm).where(Alarm.status == AlarmStatus.WAITING)).all()
            assert {row.equipment: row.id for row in waiting} == by_name
        for row in waiting:
            order_id = ordered(database, next_alarm(database, row.id))
            move(database, order_id, "Ready", "Dispatched", "Running")


def next_alarm(database: Database, alarm_id: int) -> NewAlarm:
    with database.reading() as session:
        row = session.get_one(Alarm, alarm_id)
        return fault(row.equipment, source=row.source, event_id=row.event_id)


def test_a_settlement_and_a_worse_occurrence_at_once_make_an_order_that_is_as_severe(
    database: Database,
) -> None:
    for number in range(10):
        first = fault(f"A{number}", severity=300)
        take_in(database, first)
        row = alarm_row(database, first)
        attempt = claimed(database, row.id)

        def do(what: str, number: int = number, row: Alarm = row, attempt: int = attempt) -> None:
            if what == "settle":
                with database.writing() as session:
                    settle(session, row.id, attempt, an_order(), NOW, ZONE)
            else:
                intake(database, [fault(f"A{number}", severity=850)])

        at_once(do, ["settle", "worse", "worse"])
        with database.reading() as session:
            order = session.get_one(WorkOrder, session.get_one(Alarm, row.id).work_order_id)
            assert (order.severity, order.priority) == (850, 1)


@pytest.mark.parametrize("grouped", [False, True], ids=["all severe", "grouped"])
def test_the_flood_limit_is_exact_however_many_intakes_there_are(database: Database, grouped: bool) -> None:
    rules = Rules(flood_limit=FloodLimit(5, timedelta(minutes=10)))
    severity = 500 if grouped else 800
    alarms = [fault(f"A{number}", severity=severity) for number in range(40)]

    def deliver(who: int) -> None:
        for alarm in alarms[who::8]:
            intake(database, [alarm], rules)

    at_once(deliver, range(8))
    with database.reading() as session:
        books_balance(session)
        statuses = Counter(session.scalars(select(Alarm.status)))
        floods = session.scalars(select(Flood)).all()
    if not grouped:
        assert (statuses, floods) == ({AlarmStatus.WAITING: 40}, [])
        return
    assert statuses == {AlarmStatus.WAITING: 6, AlarmStatus.ATTACHED: 34}
    [flood] = floods
    with database.reading() as session:
        assert {row.leader_id for row in session.scalars(select(Alarm)) if row.leader_id} == {flood.leader_id}


def test_a_flood_that_goes_on_while_its_order_ends_is_led_by_a_new_alarm(database: Database) -> None:
    rules = Rules(flood_limit=FloodLimit(2, timedelta(minutes=10)))
    start = [fault(f"A{number}") for number in range(4)]
    take_in(database, *start, rules=rules)
    order_id = ordered(database, start[2])
    move(database, order_id, "Ready", "Dispatched", "Running")

    def do(what: str) -> None:
        if what == "end":
            move(database, order_id, "Completed")
        else:
            intake(database, [fault(what)], rules)

    at_once(do, ["end", *(f"B{number}" for number in range(7))])
    with database.reading() as session:
        books_balance(session)
        leader = alarm_row(database, start[2]).id
        for row in session.scalars(select(StandingAlarm).where(StandingAlarm.leader_id == leader)):
            assert row.status is StandingStatus.CLOSED
        assert len(session.scalars(select(Flood)).all()) <= 2
