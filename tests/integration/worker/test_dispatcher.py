"""The only sender of tasks: what it sends, how many, and what it sends again."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from redis import Redis
from sqlalchemy import select

from db.models import Alarm
from db.models.alarm import AlarmStatus
from db.queries.alarms import intake, lease
from db.queries.alarms.dispatch import DueAlarm
from db.session import Database
from tests.helpers.support import an_alarm, eventually
from worker.line.dispatcher import Dispatcher, SendError
from worker.tasks import queue_lists

LISTS = queue_lists()


@pytest.fixture
def broker(broker_url: str) -> Iterator[Redis]:
    with Redis.from_url(broker_url, protocol=2) as client:
        yield client


def put(database: Database, *severities: int) -> list[int]:
    """Waiting alarms of these severities; their ids, in the same order."""
    ids = []
    for severity in severities:
        alarm = an_alarm(severity=severity)
        with database.writing() as session:
            intake.accept(session, [("1-1", b"", alarm)], [], datetime.now(UTC))
            ids.append(session.scalars(select(Alarm.id).where(Alarm.event_id == alarm.event_id)).one())
    return ids


def statuses(database: Database) -> list[AlarmStatus]:
    with database.reading() as session:
        return list(session.scalars(select(Alarm.status).order_by(Alarm.id)))


class Sent(list[DueAlarm]):
    """Notes what was sent, and whether its mark was committed by then."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.database = database
        self.committed: list[bool] = []

    def __call__(self, alarm: DueAlarm) -> None:
        with self.database.reading() as session:
            status = session.scalars(select(Alarm.status).where(Alarm.id == alarm.id)).one()
        self.committed.append(status is AlarmStatus.DISPATCHED)
        self.append(alarm)


def test_the_worst_alarm_goes_first_and_after_the_commit(
    database: Database, broker: Redis, broker_url: str
) -> None:
    low, high, also_high = put(database, 100, 900, 900)
    sent = Sent(database)
    Dispatcher(database, broker_url, LISTS, sent, concurrency=2).send_due(broker)
    assert [alarm.id for alarm in sent] == [high, also_high, low]
    assert sent.committed == [True, True, True]
    assert (sent[0].line_name, sent[0].fault_code) == ("交互屏组装A线", "E401")


def test_at_most_four_tasks_a_thread_are_outstanding(
    database: Database, broker: Redis, broker_url: str
) -> None:
    put(database, *([500] * 10))
    sent = Sent(database)
    dispatcher = Dispatcher(database, broker_url, LISTS, sent, concurrency=2)
    assert dispatcher.send_due(broker), "it should say that there may be more"
    dispatcher.send_due(broker)
    assert len(sent) == 8
    with database.writing() as session:
        for alarm in sent[:3]:
            lease.claim(session, alarm.id, "worker", datetime.now(UTC), timedelta(seconds=30))
    dispatcher.send_due(broker)
    assert len(sent) == 10


def test_messages_that_wait_in_the_broker_count_too(
    database: Database, broker: Redis, broker_url: str
) -> None:
    put(database, 500, 500)
    for name in LISTS:
        broker.lpush(name, b"an old message")
    sent = Sent(database)
    Dispatcher(database, broker_url, LISTS, sent, concurrency=1).send_due(broker)
    assert sent == []
    broker.delete(LISTS[0], LISTS[3])
    Dispatcher(database, broker_url, LISTS, sent, concurrency=1).send_due(broker)
    assert len(sent) == 2


def test_a_task_that_got_lost_is_sent_again_and_a_lapsed_lease_too(
    database: Database, broker: Redis, broker_url: str
) -> None:
    lost, lapsed, held = put(database, 500, 500, 500)
    now = datetime.now(UTC)
    with database.writing() as session:
        lease.claim(session, lapsed, "dead", now - timedelta(seconds=60), timedelta(seconds=30))
        lease.claim(session, held, "alive", now, timedelta(seconds=30))
    sent = Sent(database)
    patient = Dispatcher(database, broker_url, LISTS, sent, concurrency=2)
    patient.send_due(broker)
    assert {alarm.id for alarm in sent} == {lost, lapsed}
    patient.send_due(broker)
    assert len(sent) == 2
    Dispatcher(database, broker_url, LISTS, sent, concurrency=2, redispatch_after=timedelta(0)).send_due(
        broker
    )
    assert sorted(alarm.id for alarm in sent[2:]) == [lost, lapsed]


def test_what_could_not_be_sent_is_due_again_at_once(
    database: Database, broker: Redis, broker_url: str
) -> None:
    put(database, 500, 500, 500)
    sent = Sent(database)

    def one_only(alarm: DueAlarm) -> None:
        if sent:
            raise ConnectionError("the broker went away")
        sent(alarm)

    with pytest.raises(SendError, match="2 tasks were not sent: ConnectionError"):
        Dispatcher(database, broker_url, LISTS, one_only, concurrency=2).send_due(broker)
    assert statuses(database) == [AlarmStatus.DISPATCHED, AlarmStatus.WAITING, AlarmStatus.WAITING]


def test_it_looks_at_once_when_it_is_woken_and_survives_failures(
    database: Database, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.line.dispatcher.PAUSE_SECONDS", 600)
    sent = Sent(database)
    failing = threading.Event()
    failing.set()

    def send(alarm: DueAlarm) -> None:
        if failing.is_set():
            failing.clear()
            raise ConnectionError("the broker went away")
        sent(alarm)

    dispatcher = Dispatcher(database, broker_url, LISTS, send, concurrency=2)
    stop = threading.Event()
    thread = threading.Thread(target=dispatcher.run, args=(stop,))
    thread.start()
    try:
        first, second = put(database, 500, 400)
        dispatcher.wake()
        eventually(lambda: {alarm.id for alarm in sent} == {first, second}, 10)
        [third] = put(database, 500)
        dispatcher.wake()
        eventually(lambda: sent[-1].id == third, 5)
    finally:
        stop.set()
        dispatcher.wake()
        thread.join(10)
    assert not thread.is_alive()
