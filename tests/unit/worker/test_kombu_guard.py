"""kombu's Redis channel with our guard: rubbish on a list, keys of a wrong type, a lost connection."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from celery import Celery
from kombu.transport.redis import Transport

from db.queries.alarms.intake import KEPT_BYTES
from producers.queue import STREAM
from producers.settings import BrokerSettings
from tests import rubbish
from tests.helpers.sample_events import GOOD
from worker import tasks
from worker.app import build_app
from worker.broker import kombu_guard
from worker.broker.kombu_guard import GuardedChannel
from worker.line.entries import NOT_A_TASK
from worker.process.seldom import Seldom
from worker.settings import WorkerSettings

LISTS = tasks.queue_lists()


@pytest.fixture(autouse=True)
def _logs_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test said leaves no other's lines out."""
    for name in ("_set_aside_log", "_lost_log", "_dropped_log"):
        monkeypatch.setattr(kombu_guard, name, Seldom(kombu_guard.logger, logging.WARNING))


@pytest.fixture
def broker(broker_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(broker_url) as client:
        yield client


@pytest.fixture
def app(broker_url: str) -> Iterator[Celery]:
    app = build_app(BrokerSettings(broker_url=broker_url), WorkerSettings(worker_concurrency=4))
    yield app
    app.close()


@contextmanager
def reading(app: Celery) -> Iterator[Any]:
    """Celery's queue, read as a worker reads it: BRPOP on all of its lists."""
    with app.connection_for_read() as connection, connection.SimpleQueue(tasks.QUEUE) as queue:
        yield queue


def alarms(queue: Any, number: int) -> list[int]:
    found = []
    for _ in range(number):
        message = queue.get(timeout=10)
        message.ack()
        found.append(message.payload[1]["alarm_id"])
    return found


def set_aside(broker: redis.Redis) -> list[bytes]:
    entries: Any = broker.xrange(STREAM)
    assert all(list(fields) == [NOT_A_TASK.encode()] for _, fields in entries)
    return [fields[NOT_A_TASK.encode()] for _, fields in entries]


def test_rubbish_is_set_aside_and_the_tasks_around_it_are_taken(
    app: Celery, broker: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    pushed = [b"", b"PING", b"\xff\xfe", b"null", b"{}", json.dumps(GOOD).encode()]
    broker.lpush(LISTS[0], rubbish.raw(1), *pushed, rubbish.raw(2))
    broker.lpush(LISTS[2], b"secret\nforged line", rubbish.raw(3))
    with reading(app) as queue:
        assert alarms(queue, 3) == [1, 2, 3]
    assert set_aside(broker) == [*pushed, b"secret\nforged line"]
    said = [record.getMessage() for record in caplog.records if record.name == kombu_guard.__name__]
    assert len(said) == 7
    assert said[1] == (
        "4 bytes on the list of tasks are no task (Invalid JSON: expected value at line 1 column 1); "
        "they are put among the rejected alarms"
    )
    assert "secret" not in caplog.text


def test_of_five_megabytes_the_first_64_kib_are_kept(app: Celery, broker: redis.Redis) -> None:
    huge = dict(rubbish.on_celerys_lists())["5 MB in a header"]
    broker.lpush(LISTS[0], huge, rubbish.raw(1))
    with reading(app) as queue:
        assert alarms(queue, 1) == [1]
    assert set_aside(broker) == [huge[:KEPT_BYTES]]


def test_a_flood_of_rubbish_is_a_few_lines_in_the_log(
    app: Celery, broker: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    broker.lpush(LISTS[0], *(b"%d" % number for number in range(500)), rubbish.raw(1))
    with reading(app) as queue:
        assert alarms(queue, 1) == [1]
    assert len(set_aside(broker)) == 500
    assert len(caplog.records) < 100


def test_two_tasks_with_one_delivery_tag_are_two(app: Celery, broker: redis.Redis) -> None:
    for alarm_id in (1, 2, 3):
        broker.lpush(LISTS[0], rubbish.raw(alarm_id, properties={"delivery_tag": "the same"}))
    with reading(app) as queue:
        messages = [queue.get(timeout=10) for _ in range(3)]
        assert [message.payload[1]["alarm_id"] for message in messages] == [1, 2, 3]
        assert len({message.delivery_tag for message in messages}) == 3
        messages[1].ack()
    assert broker.llen(LISTS[1]) == 2, "the two that were not acknowledged are back"


def test_rubbish_that_the_stream_does_not_take_is_lost_and_the_log_shows_its_start(
    app: Celery, broker: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    broker.set(STREAM, "of another type")
    broker.lpush(LISTS[0], b"\x1b[2Jrubbish" + b"x" * 1000, rubbish.raw(1))
    with reading(app) as queue:
        assert alarms(queue, 1) == [1]
    (said,) = [message for message in caplog.messages if "are lost" in message]
    assert said.startswith("1011 bytes on the list of tasks are no task (Invalid JSON: ")
    assert r"are lost, but for their start: \x1b[2Jrubbishxxx" in said
    assert said.endswith("; ResponseError")
    assert len(said) < 300


def test_a_connection_that_goes_while_rubbish_is_set_aside_is_said_to_be_gone(
    app: Celery, broker: redis.Redis, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(client: Any, connection: Any, *command: Any) -> None:
        connection.disconnect()
        raise redis.ConnectionError("cut")

    monkeypatch.setattr(kombu_guard._Client, "_ask", cut)
    broker.lpush(LISTS[0], b"rubbish")
    with reading(app) as queue, pytest.raises(Transport.connection_errors):
        queue.get(timeout=10)
    assert "are lost, but for their start: rubbish; ConnectionError" in caplog.text


@pytest.mark.parametrize(
    "key",
    [*LISTS, "_kombu.binding.andon", "_kombu.binding_permanent.andon", "_kombu.binding.celery.pidbox"],
)
def test_a_key_of_another_type_in_the_place_of_one_of_kombus_is_moved_aside(
    app: Celery, broker: redis.Redis, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    broker.set(key, "of another type")
    with reading(app) as queue:
        broker.lpush(LISTS[0], rubbish.raw(1))
        assert alarms(queue, 1) == [1]
    (moved,) = broker.keys(f"{key}.moved_aside.*")
    assert broker.get(moved) == b"of another type"
    assert f"the broker's key {key!r} was of a wrong type" in caplog.text


def test_a_broker_that_does_not_say_its_keys_types_is_used_all_the_same(
    app: Celery, broker: redis.Redis, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(channel: Any) -> None:
        raise redis.ResponseError("User andon has no permissions to run the 'type' command")

    monkeypatch.setattr(GuardedChannel, "_move_aside", refuse)
    broker.lpush(LISTS[0], rubbish.raw(1))
    with reading(app) as queue:
        assert alarms(queue, 1) == [1]
    assert "no permissions to run the 'type' command" in caplog.text


def test_nothing_is_kept_in_the_broker_of_what_is_being_worked_on(app: Celery, broker: redis.Redis) -> None:
    broker.lpush(LISTS[0], rubbish.raw(1))
    with reading(app) as queue:
        message = queue.get(timeout=10)
        keys = set(broker.scan_iter())
        message.ack()
    assert keys == {b"_kombu.binding.andon", b"_kombu.binding_permanent.andon"}


def test_what_was_not_begun_goes_back_onto_its_list_when_the_channel_closes(
    app: Celery, broker: redis.Redis
) -> None:
    broker.lpush(LISTS[1], rubbish.raw(1), rubbish.raw(2))
    with reading(app) as queue:
        queue.get(timeout=10)
        queue.get(timeout=10).ack()
    with reading(app) as queue:
        assert alarms(queue, 1) == [1]
    assert [broker.llen(name) for name in LISTS] == [0, 0, 0, 0]


def test_a_broker_that_is_gone_is_asked_once_to_take_back_what_was_not_begun(
    app: Celery, broker: redis.Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    asked = []

    def gone(channel: Any, *message: Any, **options: Any) -> None:
        asked.append(message)
        raise redis.ConnectionError("gone")

    broker.lpush(LISTS[1], *(rubbish.raw(number) for number in range(1, 4)))
    with reading(app) as queue:
        for _ in range(3):
            queue.get(timeout=10)
        monkeypatch.setattr(GuardedChannel, "_put", gone)
    assert len(asked) == 1
    assert "the dispatcher sends them again" in caplog.text
