"""Tasks that the broker lost: each alarm that was accepted is sent again, in time."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from redis import Redis
from sqlalchemy import select

from db.models import Alarm
from db.models.alarm import AlarmStatus
from db.session import Database
from producers.queue import STREAM, publish
from producers.simulator import simulate
from tests.helpers.backlog import MOST, MakeDispatcher, next_task, put, queued, work
from tests.helpers.running import running
from tests.helpers.support import an_alarm, eventually
from worker.line.dispatcher import LOST_AFTER, REDISPATCH_AFTER
from worker.line.intake import Intake


@pytest.fixture
def broker(broker_url: str) -> Iterator[Redis]:
    with Redis.from_url(broker_url, protocol=2) as client:
        yield client


def test_a_broker_that_is_emptied_in_the_middle_gets_every_task_again(
    database: Database, broker: Redis, dispatcher: MakeDispatcher
) -> None:
    put(database, [an_alarm() for _ in range(60)])
    with running(dispatcher(redispatch_after=timedelta(seconds=1))):
        claimed = work(database, broker, 20)
        for _ in range(3):
            eventually(lambda: queued(broker) > 0, 10)
            broker.flushdb()
            claimed += work(database, broker, 5)
        claimed += work(database, broker, 60 - len(claimed))
    assert len(set(claimed)) == len(claimed) == 60


def test_a_broker_that_is_emptied_after_acceptance_loses_nothing(
    database: Database, broker: Redis, broker_url: str, dispatcher: MakeDispatcher
) -> None:
    events = [event for event in simulate(80, 5, datetime.now(UTC)) if event.state == "active"]
    publish(broker, events)
    with running(Intake(database, broker_url, "a test")):
        eventually(lambda: not broker.xlen(STREAM) and broker.exists(STREAM), 30)
    with database.reading() as session:
        accepted = set(session.scalars(select(Alarm.id).where(Alarm.status == AlarmStatus.WAITING)))
    assert accepted
    dispatcher().send_due(broker)
    assert queued(broker) == min(MOST, len(accepted))
    broker.flushdb()
    with running(dispatcher(redispatch_after=timedelta(seconds=1))):
        claimed = work(database, broker, len(accepted))
    assert set(claimed) == accepted


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_task_is_taken_for_lost_sooner_when_no_task_is_on_the_lists(
    database: Database, broker: Redis, dispatcher: MakeDispatcher
) -> None:
    put(database, [an_alarm() for _ in range(2)])
    dispatcher().send_due(broker)
    lost = next_task(broker)
    _dispatched_earlier(database, LOST_AFTER)
    dispatcher().send_due(broker)
    assert queued(broker) == 1, "the one on the list may stand before the other"
    kept = next_task(broker)
    dispatcher().send_due(broker)
    assert sorted(work(database, broker, 2)) == sorted(filter(None, (lost, kept)))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_lost_task_is_sent_again_behind_one_that_stays_on_the_list(
    database: Database, broker: Redis, dispatcher: MakeDispatcher
) -> None:
    put(database, [an_alarm() for _ in range(2)])
    dispatcher().send_due(broker)
    next_task(broker)
    _dispatched_earlier(database, REDISPATCH_AFTER)
    dispatcher().send_due(broker)
    assert len(set(work(database, broker, 2))) == 2


def _dispatched_earlier(database: Database, by: timedelta) -> None:
    with database.writing() as session:
        for alarm in session.scalars(select(Alarm)):
            assert alarm.dispatched_at is not None
            alarm.dispatched_at -= by


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_time_of_a_dispatch_is_when_it_is_written_however_long_that_had_to_wait(
    database: Database, database_url: str, broker: Redis, dispatcher: MakeDispatcher
) -> None:
    put(database, [an_alarm()])
    other = Database(database_url)
    sending = threading.Thread(target=dispatcher().send_due, args=(broker,))
    with other.writing():
        sending.start()
        sending.join(1.5)
        assert sending.is_alive()
        until = datetime.now(UTC)
    sending.join(30)
    other.close()
    with database.reading() as session:
        dispatched_at = session.scalars(select(Alarm.dispatched_at)).one()
    assert dispatched_at is not None
    assert dispatched_at >= until, "it would be taken for lost too early by as much as it had to wait"
