"""A backlog and a real broker: Celery is never flooded, and the worst alarm is next."""

from collections.abc import Iterator

import pytest
from redis import Redis
from sqlalchemy import select, text, update
from sqlalchemy.exc import DBAPIError

from db.models import Alarm
from db.models.alarm import AlarmStatus
from db.queries.alarms import dispatch
from db.queries.clock import now
from db.session import Database
from tests.helpers.backlog import (
    MOST,
    MakeDispatcher,
    claim,
    next_task,
    number_of,
    put,
    queued,
    work,
)
from tests.helpers.running import running
from tests.helpers.support import LEASE, an_alarm, at_once, eventually, only_postgresql
from worker.line.dispatcher import REDISPATCH_AFTER

BACKLOG = 10_000


@pytest.fixture
def broker(broker_url: str) -> Iterator[Redis]:
    with Redis.from_url(broker_url, protocol=2) as client:
        yield client


def test_of_a_backlog_of_ten_thousand_four_tasks_a_thread_are_outstanding_and_the_worst_come_first(
    database: Database, broker: Redis, dispatcher: MakeDispatcher
) -> None:
    put(database, [an_alarm(severity=1 + number * 37 % 1000) for number in range(BACKLOG)])
    with database.reading() as session:
        worst = session.scalars(select(Alarm.id).order_by(Alarm.severity.desc(), Alarm.id).limit(160)).all()
    one = dispatcher()
    for _ in range(5):
        one.send_due(broker)
        assert queued(broker) == number_of(database, AlarmStatus.DISPATCHED) == MOST
    with running(one):
        claimed = work(database, broker, 160)
    assert set(claimed) == set(worst)
    assert number_of(database, AlarmStatus.WAITING) >= BACKLOG - 160 - MOST


def test_a_severe_alarm_that_comes_into_a_backlog_is_next(
    database: Database, broker: Redis, dispatcher: MakeDispatcher
) -> None:
    put(database, [an_alarm(severity=500) for _ in range(200)])
    one = dispatcher()
    one.send_due(broker)
    put(database, [an_alarm(severity=1000, event_id="the worst")])
    put(database, [an_alarm(severity=1, event_id="the leader of a bad one")])
    with database.writing() as session:
        session.execute(update(Alarm).where(Alarm.severity == 1).values(urgency=990))
    for _ in range(2):
        assert claim(database, next_task(broker) or 0)
    one.send_due(broker)
    with database.reading() as session:
        grave = [session.get_one(Alarm, next_task(broker)).event_id for _ in range(2)]
    assert grave == ["the worst", "the leader of a bad one"]


def test_several_dispatchers_at_once_fill_the_room_once(
    database: Database,
    database_url: str,
    broker: Redis,
    dispatcher: MakeDispatcher,
) -> None:
    put(database, [an_alarm() for _ in range(400)])
    workers = [Database(database_url) for _ in range(4)]
    try:
        all_of_them = [dispatcher(own) for own in workers]
        for _ in range(10):
            broker.flushdb()
            with database.writing() as session:
                session.execute(update(Alarm).values(status=AlarmStatus.WAITING))
            at_once(lambda one: one.send_due(broker), all_of_them)
            assert queued(broker) == number_of(database, AlarmStatus.DISPATCHED) == MOST
        with running(*all_of_them):
            claimed = work(database, broker, 200)
        assert len(set(claimed)) == len(claimed)
    finally:
        for own in workers:
            own.close()


@only_postgresql
def test_a_dispatcher_leaves_the_round_to_the_one_that_is_at_it(
    database: Database, broker: Redis, dispatcher: MakeDispatcher
) -> None:
    put(database, [an_alarm() for _ in range(MOST)])
    with database.writing() as session:
        assert dispatch.my_turn(session)
        taken = dispatch.take_due(session, MOST, now(session), REDISPATCH_AFTER)
        put(database, [an_alarm(severity=1000)])
        assert not dispatcher().send_due(broker)
    assert len(taken) == number_of(database, AlarmStatus.DISPATCHED) == MOST
    assert queued(broker) == 0
    dispatcher().send_due(broker)
    assert number_of(database, AlarmStatus.DISPATCHED) == MOST


@only_postgresql
def test_a_dispatcher_that_is_stopped_in_its_turn_does_not_keep_the_others_waiting(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_LONGEST_TURN_SECONDS", 1)

    def my_turn() -> bool:
        with database.writing() as session:
            return dispatch.my_turn(session)

    def stops_in_its_turn() -> None:
        with database.writing() as session:
            assert dispatch.my_turn(session)
            assert not my_turn()
            eventually(my_turn, 20)
            session.execute(text("SELECT 1"))

    with pytest.raises(DBAPIError):
        stops_in_its_turn()
    assert my_turn()


@only_postgresql
def test_rows_that_refer_to_an_alarm_do_not_keep_it_from_being_dispatched(database: Database) -> None:
    """An occurrence that is being taken in holds its leader's key."""
    put(database, [an_alarm()])
    with database.writing() as occurrence:
        occurrence.execute(select(Alarm.id).with_for_update(read=True, key_share=True))
        with database.writing() as session:
            assert len(dispatch.take_due(session, 10, now(session), LEASE)) == 1
