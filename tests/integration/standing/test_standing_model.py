"""Whatever comes, in whatever order and batches: what stands is what the plainest telling of it says."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from db.errors import FaultHeld
from db.models import Alarm, Flood, Shelving, StandingAlarm, WorkOrder
from db.queries.alarms.intake import NewAlarm
from db.queries.books import books
from db.queries.orders.transitions import set_status
from db.queries.standing import floods, shelved
from db.rules import FloodLimit, Rules
from db.session import Database
from tests.helpers.faults import books_balance, fault, ordered, take_in
from tests.helpers.standing_model import Model
from tests.helpers.support import NOW

LINES = ("line 1", "line 2")
SEVERITIES = (100, 400, 650, 799, 800, 950)


class Plant:
    """One random history, told to the model and to the database."""

    def __init__(self, database: Database, seed: int, rules: Rules) -> None:
        self.random = random.Random(seed)
        self.database, self.rules = database, rules
        self.model = Model(rules)
        self.now = NOW
        self.orders: dict[str, str] = {}
        self.steps: list[Callable[[], None]] = [
            *[self.raise_alarms] * 6, self.settle, self.settle, self.end, self.end, self.reopen, self.shelve,
            self.unshelve, self.end_what_is_over,
        ]  # fmt: skip

    def step(self) -> None:
        self.now += timedelta(minutes=self.random.choice([0, 0.1, 1, 7, 100]))
        self.random.choice(self.steps)()

    def raise_alarms(self) -> None:
        batch = [self.an_alarm() for _ in range(self.random.choice([1, 1, 2, 3, 8, 20]))]
        take_in(self.database, *batch, now=self.now, rules=self.rules, at_once=self.random.random() < 0.7)
        for alarm in batch:
            self.model.take(alarm, self.now)

    def an_alarm(self) -> NewAlarm:
        # No two moments are alike: of two such clears or alarms, either may be called the last one.
        ago = self.random.choice([0, 0, 1, 5, 30]) + self.random.random() / 10
        return fault(
            f"machine {self.random.randrange(5)}",
            line_name=self.random.choice(LINES),
            severity=self.random.choice(SEVERITIES),
            state=self.random.choice(["active", "active", "active", "cleared"]),
            historical=self.random.random() < 0.1,
            occurred_at=self.now - timedelta(minutes=ago),
        )

    def settle(self) -> None:
        open_ones = [each.event for each in self.model.alarms.values() if each.status == "waiting"]
        if open_ones:
            event = self.random.choice(open_ones)
            order_id = ordered(self.database, self.model.alarms[event].alarm, self.now)
            self.move(order_id, "Ready", "Dispatched", "Running")
            self.orders[event] = order_id
            self.model.settle(event)

    def end(self) -> None:
        if (event := self.one_with("Running")) is not None:
            status = self.random.choice(["Completed", "Cancelled"])
            self.move(self.orders[event], status)
            self.model.end(event, status, self.now)

    def reopen(self) -> None:
        if (event := self.one_with("Completed")) is not None:
            if self.model.reopen(event):
                self.move(self.orders[event], "Running")
            else:
                with pytest.raises(FaultHeld):
                    self.move(self.orders[event], "Running")

    def one_with(self, status: str) -> str | None:
        found = [event for event in self.orders if self.model.alarms[event].order == status]
        return self.random.choice(found) if found else None

    def move(self, order_id: str, *statuses: str) -> None:
        for status in statuses:
            with self.database.writing() as session:
                set_status(session, order_id, status, "王芳", "", self.now)

    def shelve(self) -> None:
        known = [each.alarm for each in self.model.alarms.values()]
        if not known:
            return
        alarm = self.random.choice(known)
        name = (alarm.line_name, alarm.equipment)
        if name in self.model.shelved_until:
            return
        until = self.now + timedelta(minutes=self.random.choice([0.05, 2, 60]))
        with self.database.writing() as session:
            fingerprint = session.scalars(
                select(Alarm.fingerprint).where(Alarm.event_id == alarm.event_id)
            ).one()
            session.add(
                Shelving(
                    fingerprint=fingerprint, line_name=alarm.line_name, equipment=alarm.equipment,
                    fault_code=alarm.fault_code, until=until, shelved_by="王芳", why="", shelved_at=self.now,
                )
            )  # fmt: skip
        self.model.shelved_until[name] = until

    def unshelve(self) -> None:
        if self.model.shelved_until:
            name = self.random.choice(sorted(self.model.shelved_until))
            with self.database.writing() as session:
                for row in session.scalars(select(Shelving).where(Shelving.ended_at.is_(None))):
                    if (row.line_name, row.equipment) == name:
                        row.until = min(row.until, self.now)
            self.model.shelved_until[name] = min(self.model.shelved_until[name], self.now)

    def end_what_is_over(self) -> None:
        with self.database.writing() as session:
            shelved.release(session, self.now, self.rules)
        with self.database.writing() as session:
            floods.end(session, self.now, self.rules)
        self.model.release(self.now)
        self.model.end_floods(self.now)

    def check(self) -> None:
        with self.database.reading() as session:
            alarms = {row.id: row for row in session.scalars(select(Alarm))}
            events = {row.id: row.event_id for row in alarms.values()}
            leaders = {row.work_order_id: row.event_id for row in alarms.values() if row.work_order_id}
            assert {
                row.event_id: (row.status.value, events.get(row.leader_id or 0)) for row in alarms.values()
            } == {each.event: (each.status, each.leader) for each in self.model.alarms.values()}
            assert self.shown(session.scalars(select(StandingAlarm)).all(), events, leaders) == sorted(
                (
                    each.name, each.leader, each.severity, each.occurrences, each.first_at, each.last_at,
                    str(each.cleared_at), str(each.repeat_of), str(each.closed_at),
                )
                for each in self.model.faults
            )  # fmt: skip
            assert [
                (row.line_name, events[row.leader_id], events[row.first_out_id], row.ended_at is not None)
                for row in session.scalars(select(Flood).order_by(Flood.id))
            ] == [(each.line, each.leader, each.first_out, each.ended) for each in self.model.floods]
            for row in alarms.values():
                if row.event_id in self.model.urgency and row.leader_id is None and row.status != "shelved":
                    assert (row.urgency or row.severity) == self.model.urgency[row.event_id]
            for order in session.scalars(select(WorkOrder)):
                assert order.severity == self.model.urgency[leaders[order.id]]
                assert order.priority == self.rules.priority(order.severity)
            books_balance(session)
            counted: dict[str, Any] = books(session, self.now)
            assert counted["balanced"], counted["amiss"]

    @staticmethod
    def shown(
        rows: Any, events: dict[int, str], leaders: dict[int, str]
    ) -> list[tuple[tuple[str, str], str, int, int, datetime, datetime, str, str, str]]:
        return sorted(
            (
                (row.line_name, row.equipment), events[row.leader_id], row.severity, row.occurrences,
                row.first_at, row.last_at, str(row.cleared_at),
                str(leaders[row.repeat_of] if row.repeat_of else None), str(row.closed_at),
            )
            for row in rows
        )  # fmt: skip


RULES = {
    "without a flood limit": Rules(),
    "with a flood limit": Rules(flood_limit=FloodLimit(3, timedelta(minutes=10))),
    "a flood at the second": Rules(flood_limit=FloodLimit(1, timedelta(hours=2)), repeat_window=timedelta(0)),
    "a short repeat window": Rules(repeat_window=timedelta(minutes=20)),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES.keys())
def test_what_stands_is_what_the_plainest_telling_says(database: Database, rules: Rules) -> None:
    plant = Plant(database, seed=20260804, rules=rules)
    for number in range(160):
        plant.step()
        if number % 4 == 3:
            plant.check()
    plant.check()
    assert len(plant.model.alarms) > 200
