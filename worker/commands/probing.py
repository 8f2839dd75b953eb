"""Asks the line whether it works: a probe goes all the way of an alarm to its claim, and makes no order."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import uuid4

from redis import Redis, RedisError
from sqlalchemy.exc import SQLAlchemyError

from db.queries import clock
from db.queries.alarms import probes
from db.queries.alarms.probes import Stamps
from db.session import Database
from producers.queue import STREAM, connect
from worker.line.entries import PROBE
from worker.line.intake import DEAD_READER_SECONDS, GROUP
from worker.process.backoff import brief
from worker.tasks import QUEUE

LOOK_SECONDS = 2.0
FIRST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 0.25
PING_SECONDS = 5.0

TO_INTAKE, TO_DISPATCH, TO_CLAIM = "stream_to_intake", "intake_to_dispatch", "dispatch_to_claim"

BEFORE_INTAKE = {
    "unread": "no worker has read it off the stream; if one runs (`alarm-worker run`) with this BROKER_URL, "
    "its log says what its intake waits for",
    "behind": "an intake is taking in what was pushed before it, {entries} entries by now: it is behind, "
    "not dead",
    "unstored": "the reader {reader} was given it and has not stored it; its log says whether the database "
    "is away or locked, and if that worker is gone, another takes over what it was given after {seconds:g} s",
    "gone": "it was taken off the stream and is not in this database; the workers have another DATABASE_URL, "
    "or are of a version that knows no probes (then `alarm-worker rejected list` shows it)",
}
BEFORE_DISPATCH = (
    "it is stored and no task was sent for it; if a worker runs with this DATABASE_URL, its log says whether "
    "its dispatcher waits for the broker or for the database"
)
BEFORE_CLAIM = {
    "waiting": "its task was sent, and tasks lie on the broker's list that no worker takes; every thread is "
    "taken, or the workers have lost the broker: see their log",
    "taken": "a worker has taken its task and not carried it out; every thread of it is taken, its event "
    "loop hangs, or it cannot write to the database: see its log",
}
BROKER_GONE = "the broker has gone away since it took the probe"
GONE = "the database cannot be asked any more"
BUSY = "; {held} alarms are being worked on and their leases renewed: the line is busy, not dead"


@dataclass
class Answer:
    """How far the probe came. `stuck` is the leg that it did not come through, or else the broker, the
    database or the worker that could not be asked."""

    token: str
    works: bool = False
    legs_ms: dict[str, int] = field(default_factory=dict)
    total_ms: int = 0
    claimed_by: str | None = None
    stuck: str | None = None
    said: str = ""
    busy: bool = False
    """It waits behind alarms that are taken in or worked on, as the next alarm would have to."""


class _Stuck(Exception):
    """Raised with the name of what does not answer, and what is said of it."""


def ask(database: Database, broker_url: str, timeout_seconds: float, worker: str | None = None) -> Answer:
    """Sends a probe and waits for its claim; `worker` is the node name of one that must answer besides."""
    answer = Answer(uuid4().hex)
    deadline = time.monotonic() + timeout_seconds
    try:
        with _database("the database cannot be asked"), database.reading(LOOK_SECONDS) as session:
            pushed_at = clock.now(session)
        with contextlib.closing(connect(broker_url)) as broker:
            with _broker("the broker does not take the probe"):
                entry_id: Any = broker.xadd(STREAM, {PROBE: answer.token})
                delivered = _delivered(broker)
            try:
                if worker is not None:
                    _ping(worker, min(PING_SECONDS, timeout_seconds))
                with _database(GONE):
                    stamps = _wait(database, answer.token, deadline)
                    if stamps is None and not _lies_in_stream(broker, entry_id):
                        stamps = _look(database, answer.token)  # stored since, or never to be
                _note(answer, pushed_at, stamps)
                if stamps is None or stamps.claimed_at is None:
                    with _broker(BROKER_GONE):
                        _diagnose(answer, database, broker, entry_id, delivered, stamps)
                answer.works = True
            finally:
                _forget(answer, database, broker, entry_id)
    except _Stuck as stuck:
        answer.stuck, answer.said = stuck.args
    return answer


def _ping(worker: str, seconds: float) -> None:
    from worker.app import app

    with _broker("the broker does not take a question to the worker"):
        replies = app.control.ping(destination=[worker], timeout=seconds)
    if not replies:
        raise _Stuck("worker", f"{worker} does not answer within {seconds:g} s; does it run, by this name?")


def _wait(database: Database, token: str, deadline: float) -> Stamps | None:
    """How far the probe has come when it is claimed, or when the time is over."""
    stamps, pause = None, FIRST_PAUSE_SECONDS
    while True:
        try:
            stamps = _look(database, token)
        except SQLAlchemyError:
            if time.monotonic() >= deadline:
                raise
        if (stamps is not None and stamps.claimed_at is not None) or time.monotonic() >= deadline:
            return stamps
        time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)


def _look(database: Database, token: str) -> Stamps | None:
    with database.reading(LOOK_SECONDS) as session:
        return probes.look(session, token)


def _lies_in_stream(broker: Redis, entry_id: bytes) -> bool:
    with _broker(BROKER_GONE):
        return bool(broker.xrange(STREAM, entry_id, entry_id))


def _delivered(broker: Redis) -> Any:
    """The id of the last entry that an intake was given; None when there has been no intake."""
    groups = {group["name"]: group["last-delivered-id"] for group in broker.xinfo_groups(STREAM)}
    return groups.get(GROUP.encode())


def _note(answer: Answer, pushed_at: datetime, stamps: Stamps | None) -> None:
    """Each leg by the database's own clock: those of the machines on the way may differ."""
    if stamps is None:
        return
    answer.claimed_by = stamps.claimed_by
    legs = {
        TO_INTAKE: (pushed_at, stamps.received_at),
        TO_DISPATCH: (stamps.received_at, stamps.dispatched_at),
        TO_CLAIM: (stamps.dispatched_at, stamps.claimed_at),
    }
    for leg, (begun, done) in legs.items():
        if begun is not None and done is not None:
            answer.legs_ms[leg] = max(0, round((done - begun).total_seconds() * 1000))
    answer.total_ms = sum(answer.legs_ms.values())


def _diagnose(
    answer: Answer,
    database: Database,
    broker: Redis,
    entry_id: bytes,
    delivered: Any,
    stamps: Stamps | None,
) -> None:
    """Raises _Stuck; `delivered` is how far the intakes were when the probe was pushed."""
    if stamps is None:
        raise _Stuck(TO_INTAKE, _before_intake(answer, broker, entry_id, delivered))
    if stamps.dispatched_at is None:
        raise _Stuck(TO_DISPATCH, BEFORE_DISPATCH)
    said = BEFORE_CLAIM["waiting" if broker.llen(QUEUE) else "taken"]
    with _database(GONE), database.reading(LOOK_SECONDS) as session:
        held = probes.held_alarms(session)
    answer.busy = held > 0
    raise _Stuck(TO_CLAIM, said + (BUSY.format(held=held) if held else ""))


def _before_intake(answer: Answer, broker: Redis, entry_id: bytes, delivered: Any) -> str:
    if not _lies_in_stream(broker, entry_id):
        return BEFORE_INTAKE["gone"]
    now = _delivered(broker)
    given: Any = now is not None and broker.xpending_range(STREAM, GROUP, entry_id, entry_id, 1)
    if given:
        return BEFORE_INTAKE["unstored"].format(
            reader=given[0]["consumer"].decode(), seconds=DEAD_READER_SECONDS
        )
    if now in (None, delivered):
        return BEFORE_INTAKE["unread"]
    answer.busy = True
    return BEFORE_INTAKE["behind"].format(entries=broker.xlen(STREAM))


def _forget(answer: Answer, database: Database, broker: Redis, entry_id: bytes) -> None:
    """As well as can be: what is left of it is deleted by a later probe, and does no harm until then."""
    with contextlib.suppress(RedisError, OSError):
        broker.xdel(STREAM, entry_id)
    if answer.legs_ms:
        with contextlib.suppress(SQLAlchemyError), database.writing() as session:
            probes.forget(session, answer.token)


@contextlib.contextmanager
def _database(what: str) -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        raise _Stuck("database", f"{what}: {brief(error)}") from error


@contextlib.contextmanager
def _broker(what: str) -> Iterator[None]:
    try:
        yield
    except _Stuck:
        raise
    except Exception as error:  # kombu's, redis' or a socket's: each means that it cannot be asked
        raise _Stuck("broker", f"{what}: {brief(error)}") from error
