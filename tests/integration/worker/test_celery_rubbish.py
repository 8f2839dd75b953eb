"""A real worker whose broker others write into: it goes on, every alarm gets its order, nothing vanishes."""

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
import redis
from sqlalchemy import select

from db.models import Alarm, RejectedAlarm
from db.models.alarm import RejectReason
from db.queries.alarms.intake import KEPT_BYTES
from db.session import Database
from producers.events import AlarmEvent
from producers.queue import STREAM, publish
from producers.settings import BrokerSettings
from tests import rubbish
from tests.helpers.processes import celery_worker, environment, started
from tests.helpers.support import eventually
from worker.app import build_app
from worker.line.entries import NOT_A_TASK
from worker.settings import WorkerSettings
from worker.tasks import queue_lists

pytestmark = [pytest.mark.timeout(180), pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)]

LISTS = queue_lists()
BATCHES = 8


class Worker:
    """The line as it is run, and how many alarms it has been sent."""

    def __init__(self, database: Database, broker: redis.Redis, log: Path, pid: int) -> None:
        self.broker = broker
        self.pid = pid
        self._database = database
        self._log = log
        self._numbers = itertools.count(1)
        self._sent: list[str] = []

    def said(self) -> str:
        return self._log.read_text()

    def send_alarm(self) -> None:
        number = next(self._numbers)
        self._sent.append(f"good-{number}")
        event = AlarmEvent(
            event_id=self._sent[-1],
            source="plc-7",
            line_name="交互屏组装A线",
            equipment=f"机台{number}",
            fault_code="E401",
            severity=100 + 100 * (number % 9),
            occurred_at=datetime.now(UTC),
        )
        publish(self.broker, [event])

    def orders(self) -> dict[str, int]:
        """By event, of all the alarms that stand, the row of the work order."""
        with self._database.reading() as session:
            rows = session.execute(select(Alarm.event_id, Alarm.work_order_id)).all()
        return {event_id: order for event_id, order in rows if order is not None}

    def all_have_orders(self, seconds: float = 60) -> None:
        eventually(lambda: sorted(self.orders()) == sorted(self._sent), seconds, 0.1)
        assert len(set(self.orders().values())) == len(self._sent)

    def rejected(self) -> list[tuple[RejectReason, str]]:
        with self._database.reading() as session:
            rows = session.execute(select(RejectedAlarm.reason, RejectedAlarm.raw_digest)).all()
        return [(reason, digest) for reason, digest in rows]


@contextmanager
def running(folder: Path, broker_url: str, plant: Database, database_url: str) -> Iterator[Worker]:
    log = folder / "worker.log"
    env = environment(BROKER_URL=broker_url, DATABASE_URL=database_url, WORKER_CONCURRENCY="4")
    with (
        redis.Redis.from_url(broker_url) as broker,
        started("alarm-worker", "run", env=env, cwd=folder, log=log) as supervisor,
    ):
        eventually(lambda: "ready." in log.read_text(), 60)
        pid = celery_worker(supervisor)
        assert pid is not None
        worker = Worker(plant, broker, log, pid)
        yield worker
        assert celery_worker(supervisor) == pid, "the worker ended and was started again"
        assert "ended unasked" not in worker.said()


def test_every_kind_of_rubbish_is_rejected_and_every_alarm_between_gets_its_order(
    tmp_path: Path, broker_url: str, plant: Database, database_url: str
) -> None:
    chance = random.Random(4)
    on_lists = [raw for _, raw in rubbish.on_celerys_lists()]
    in_stream = [fields for _, fields in rubbish.in_the_stream()]
    assert len(on_lists) + len(in_stream) >= 200
    chance.shuffle(on_lists)
    chance.shuffle(in_stream)
    with running(tmp_path, broker_url, plant, database_url) as worker:
        for batch in range(BATCHES):
            for raw in on_lists[batch::BATCHES]:
                worker.broker.lpush(chance.choice(LISTS), raw)
            for fields in in_stream[batch::BATCHES]:
                worker.broker.xadd(STREAM, fields)  # type: ignore[arg-type]
            again = {"delivery_tag": "the same"}
            worker.broker.lpush(
                LISTS[0], *(rubbish.raw(number, properties=again) for number in (1, 2, 10**9))
            )
            worker.send_alarm()
        worker.all_have_orders()
        eventually(lambda: len(worker.rejected()) >= len(on_lists) + len(in_stream), 60, 0.1)
        moved = [digest for reason, digest in worker.rejected() if reason == RejectReason.NOT_A_TASK]
        beside = [fields[NOT_A_TASK.encode()] for fields in in_stream if NOT_A_TASK.encode() in fields]
        assert sorted(moved) == sorted(sha256(raw[:KEPT_BYTES]).hexdigest() for raw in on_lists + beside)
        assert len(worker.rejected()) == len(on_lists) + len(in_stream)
        assert [worker.broker.llen(name) for name in LISTS] == [0, 0, 0, 0]
        assert worker.broker.xlen(STREAM) == 0


def test_whatever_is_written_beside_the_lists_the_worker_goes_on(
    tmp_path: Path, broker_url: str, plant: Database, database_url: str
) -> None:
    number = broker_url.rpartition("/")[2]
    pieces = [raw for _, raw in rubbish.on_celerys_lists() if len(raw) <= KEPT_BYTES]
    with running(tmp_path, broker_url, plant, database_url) as worker:
        broker = worker.broker
        for index, raw in enumerate(pieces):  # where kombu keeps what is worked on, unless it is told not to
            broker.hset("unacked", f"tag-{index}", raw)
            broker.zadd("unacked_index", {f"tag-{index}": index})
        for exchange in ("andon", "celery.pidbox", "reply.celery.pidbox", "celeryev"):
            broker.sadd(f"_kombu.binding.{exchange}", *pieces[:50])
        worker.send_alarm()
        worker.all_have_orders()

        for topic in ("celery.pidbox", "celeryev/worker.heartbeat"):
            for raw in (b"7", b"[" * 100_000, *pieces):  # the first two would be the end of a worker
                broker.publish(f"/{number}.{topic}", raw)
        worker.send_alarm()
        worker.all_have_orders()

        for key in ("unacked", "_kombu.binding.andon", "_kombu.binding.celery.pidbox", *LISTS):
            broker.delete(key)
            broker.set(key, "of another type")
        worker.send_alarm()
        worker.all_have_orders()

        app = build_app(BrokerSettings(broker_url=broker_url), WorkerSettings())
        for order, arguments in {
            "shutdown": {},
            "cancel_consumer": {"queue": "andon"},
            "rate_limit": {"task_name": "andon.handle_alarm", "rate_limit": "1/h"},
            "time_limit": {"task_name": "andon.handle_alarm", "hard": 1},
            "add_consumer": {"queue": STREAM},
            "pool_shrink": {"n": 4},
            "no_such_order": {},
        }.items():
            app.control.broadcast(order, arguments=arguments)
        worker.send_alarm()
        worker.all_have_orders()
        assert len(app.control.ping(timeout=10, limit=1)) == 1
        app.close()
