"""Alarms that wait, dispatchers that send real tasks for them, and a worker's place at the broker's lists."""

import base64
import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from redis import Redis
from sqlalchemy import func, insert, select

from db.codes import fingerprint, normalise
from db.models import Alarm
from db.models.alarm import AlarmStatus
from db.queries.alarms import lease
from db.queries.alarms.intake import NewAlarm
from db.queries.clock import now
from db.session import Database
from producers.settings import BrokerSettings
from tests.helpers.support import eventually
from worker import tasks
from worker.app import build_app
from worker.line.dispatcher import REDISPATCH_AFTER, Dispatcher
from worker.settings import WorkerSettings

LISTS = tasks.queue_lists()
THREADS = 4
MOST = 4 * THREADS

MakeDispatcher = Callable[..., Dispatcher]
"""Of a database, the test's own unless one is given, and of the time after which a task is taken for lost."""


@contextmanager
def dispatchers(database: Database, broker_url: str) -> Iterator[MakeDispatcher]:
    app = build_app(BrokerSettings(broker_url=broker_url), WorkerSettings(worker_concurrency=THREADS))
    send = functools.partial(tasks.send, app)

    def make(own: Database = database, redispatch_after: timedelta = REDISPATCH_AFTER) -> Dispatcher:
        return Dispatcher(own, broker_url, LISTS, send, THREADS, redispatch_after)

    yield make
    app.close()


def put(database: Database, alarms: list[NewAlarm]) -> None:
    """Waiting alarms without the way through the intake, for its time."""
    rows = [
        vars(alarm)
        | {
            "code_key": normalise(alarm.fault_code),
            "fingerprint": fingerprint(alarm.line_name, alarm.equipment, alarm.fault_code),
            "received_at": datetime.now(UTC),
            "status": AlarmStatus.WAITING,
            "next_attempt_at": datetime.now(UTC),
        }
        for alarm in alarms
    ]
    with database.writing() as session:
        session.execute(insert(Alarm), rows)


def queued(broker: Redis) -> int:
    with broker.pipeline() as pipeline:  # all of one moment
        for name in LISTS:
            pipeline.llen(name)
        return sum(pipeline.execute())


def next_task(broker: Redis) -> int | None:
    """The alarm of the task that a worker would be given now."""
    for name in LISTS:
        raw = broker.rpop(name)
        if raw is not None:
            body = base64.b64decode(json.loads(raw)["body"])  # type: ignore[arg-type]
            alarm_id: int = json.loads(body)[1]["alarm_id"]
            return alarm_id
    return None


def claim(database: Database, alarm_id: int) -> bool:
    with database.writing() as session:
        return lease.claim(session, alarm_id, "a test", now(session), timedelta(hours=1)) is not None


def number_of(database: Database, status: AlarmStatus) -> int:
    with database.reading() as session:
        return session.scalars(select(func.count()).where(Alarm.status == status)).one()


def work(database: Database, broker: Redis, wanted: int, seconds: float = 60) -> list[int]:
    """Takes tasks as a worker does until so many alarms are claimed; which, in their order. At no moment are
    there more tasks than there may be."""
    claimed: list[int] = []

    def take_one() -> bool:
        assert queued(broker) <= MOST
        alarm_id = next_task(broker)
        if alarm_id is not None and claim(database, alarm_id):
            claimed.append(alarm_id)
        return len(claimed) >= wanted

    eventually(take_one, seconds, pause_seconds=0.001)
    return claimed
