"""What many tests need: waiting with a deadline, many threads at once, and facts to begin with."""

import hashlib
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.orm import Session

from db.codes import fingerprint
from db.models import Alarm, Base, StandingAlarm
from db.models.follow_up import FollowUpKind
from db.models.order import StepName, StepStatus
from db.queries.alarms.intake import NewAlarm, accept
from db.queries.alarms.lease import claim
from db.queries.alarms.settle import FollowUpDraft, OrderDraft, PartDraft, StepDraft, settle
from db.session import Database
from producers.events import AlarmEvent

T = TypeVar("T")
A = TypeVar("A")

NOW = datetime(2026, 8, 4, 2, 30, tzinfo=UTC)
"""The moment most tests take place in: 10:30 in the sample plant."""

LEASE = timedelta(seconds=30)

ZONE = ZoneInfo("Asia/Shanghai")

only_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
"""For what SQLite cannot come to, with its one writer whom no reader waits for."""

_numbers = itertools.count(1)


def eventually(check: Callable[[], T], seconds: float, pause_seconds: float = 0.02) -> T:
    """Ask until the answer is true, and return it; fail, with the last answer, when the time is over.

    An AssertionError from `check` ends the waiting at once: what can no longer become true is not waited for.
    """
    deadline = time.monotonic() + seconds
    while True:
        answer = check()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            name = getattr(check, "__qualname__", repr(check))
            raise AssertionError(f"{name} was not true within {seconds} s; the last answer was {answer!r}")
        time.sleep(pause_seconds)


def at_once(work: Callable[[A], T], arguments: Iterable[A]) -> list[T]:
    """Call `work` with each argument in a thread of its own, all let go together; the results in order."""
    todo = list(arguments)
    gate = threading.Barrier(len(todo))

    def run(argument: A) -> T:
        gate.wait(30)
        return work(argument)

    with ThreadPoolExecutor(len(todo)) as threads:
        return list(threads.map(run, todo))


class _BrokenOff(Exception):
    pass


@contextmanager
def broken_off(database: Database) -> Iterator[Session]:
    """A writing scope that fails at its end, after all of its statements, and is rolled back."""
    with suppress(_BrokenOff), database.writing() as session:
        yield session
        raise _BrokenOff


def an_alarm(**overrides: Any) -> NewAlarm:
    """An alarm as the intake hands it to the database, of an identity of its own unless one is given; and of
    equipment of its own, so that it opens an order."""
    number = next(_numbers)
    facts: dict[str, Any] = {
        "source": "plc-7",
        "event_id": f"event-{number:06}",
        "line_name": "交互屏组装A线",
        "equipment": f"交互屏贴合机A1-{number:06}",
        "equipment_class": "贴合机",
        "fault_code": "E401",
        "severity": 700,
        "state": "active",
        "message": "触摸屏无响应",
        "occurred_at": NOW,
        "attributes": {},
    }
    facts |= overrides
    if facts.get("historical"):
        facts["attributes"] = facts["attributes"] | {"historical": True}
    digest = hashlib.sha256(repr(sorted(facts.items())).encode()).hexdigest()
    return NewAlarm(**({"content_digest": digest} | facts))


def faults(events: Iterable[AlarmEvent]) -> int:
    """How many faults the active ones are of: so many orders come of them while none of these has ended."""
    active = [event for event in events if event.state == "active" and not event.historical]
    return len({fingerprint(event.line_name, event.equipment, event.fault_code) for event in active})


def entries(alarms: Iterable[NewAlarm]) -> list[tuple[str, bytes, NewAlarm]]:
    """The alarms as they came off the stream, each as an entry of its own."""
    return [(f"1785-{next(_numbers)}", repr(alarm).encode(), alarm) for alarm in alarms]


def accepted(
    database: Database, *alarms: NewAlarm, now: datetime = NOW, each_leads: bool = False
) -> list[int]:
    """The alarms put into the database; the ids of their rows, in the same order. With `each_leads`, those of
    one fault each open an order too, as if no other one were there."""
    with database.writing() as session:
        for batch in [[alarm] for alarm in alarms] if each_leads else [alarms]:
            accept(session, entries(batch), [], now)
            if each_leads:
                session.execute(delete(StandingAlarm))
    identities = [(alarm.source, alarm.event_id) for alarm in alarms]
    with database.reading() as session:
        query = select(Alarm.source, Alarm.event_id, Alarm.id)
        query = query.where(tuple_(Alarm.source, Alarm.event_id).in_(identities))
        ids = {(source, event_id): number for source, event_id, number in session.execute(query)}
    return [ids[identity] for identity in identities]


def claimed(database: Database, alarm_id: int, now: datetime = NOW, lease: timedelta = LEASE) -> int:
    """Claim the alarm, which must be free; the attempt's number."""
    with database.writing() as session:
        held = claim(session, alarm_id, "a test", now, lease)
    assert held is not None
    return held.attempt


def settled(
    database: Database, alarm_id: int, attempt: int, draft: OrderDraft | None = None, now: datetime = NOW
) -> str:
    """Settle the alarm in a transaction of its own; the order's id."""
    with database.writing() as session:
        return settle(session, alarm_id, attempt, draft or an_order(), now, ZONE)


def count(database: Database, table: type[Base]) -> int:
    """How many rows the table has."""
    with database.reading() as session:
        return session.scalars(select(func.count()).select_from(table)).one()


def an_order(**overrides: Any) -> OrderDraft:
    """An order as the last tool hands it over: a line without a roster, one part found."""
    statuses = {
        StepName.SEARCH_MANUAL: StepStatus.SUCCESS,
        StepName.QUERY_SHIFT: StepStatus.NOT_FOUND,
        StepName.QUERY_SPARE_PARTS: StepStatus.SUCCESS,
        StepName.GENERATE_WORK_ORDER: StepStatus.SUCCESS,
    }
    steps = [
        StepDraft(step, status, "E401", {"given": None}, "说明", calls=1, suppressed_calls=0, questions=[])
        for step, status in statuses.items()
    ]
    facts: dict[str, Any] = {
        "diagnosis": "触摸屏驱动板故障",
        "actions": ["断电挂牌", "更换触摸屏"],
        "causes": ["排线松动"],
        "safety": ["上锁挂牌"],
        "assignee": None,
        "shift": None,
        "planner": "runbook",
        "handover_reason": None,
        "model_calls": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "steps": steps,
        "parts": [PartDraft("SP-1001", "触摸屏", "触摸屏驱动", 0.9, 0, "块", "A-01", True)],
        "follow_ups": [a_follow_up()],
    }
    return OrderDraft(**(facts | overrides))


def a_follow_up(**overrides: Any) -> FollowUpDraft:
    facts: dict[str, Any] = {
        "kind": FollowUpKind.MISSING,
        "step": StepName.QUERY_SHIFT,
        "subject": "交互屏组装A线",
        "subject_key": "交互屏组装a线",
        "owner": "王班长",
        "reason": "没有排班数据",
    }
    return FollowUpDraft(**(facts | overrides))
