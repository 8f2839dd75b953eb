"""The queue: what is confirmed is on the stream, and what is not is said."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import redis

from producers.events import AlarmEvent
from producers.queue import FIELD, STREAM, PublishError, connect, publish
from producers.simulator import simulate
from tests.helpers.broken_broker import BrokenBroker

START = datetime(2026, 8, 4, 2, 30, tzinfo=UTC)
CONFIRMED = b"$3\r\n1-1\r\n"


def some(count: int) -> list[AlarmEvent]:
    return list(simulate(count, 1, START))


def on_stream(client: redis.Redis) -> list[tuple[str, dict[bytes, bytes]]]:
    answer: Any = client.xrange(STREAM)
    return [(entry_id.decode(), fields) for entry_id, fields in answer]


def sent_to(url: str, events: list[AlarmEvent]) -> PublishError:
    with connect(url) as client, pytest.raises(PublishError) as caught:
        publish(client, events)
    assert "\n" not in str(caught.value)
    return caught.value


def test_the_stream_is_the_published_contract() -> None:
    assert (STREAM, FIELD) == ("alarms", "event")


def test_what_is_published_stands_on_the_stream_in_its_order(client: redis.Redis) -> None:
    events = some(7)
    entry_ids = publish(client, events)
    entries = on_stream(client)
    assert [entry_id for entry_id, _ in entries] == entry_ids
    assert [list(fields) for _, fields in entries] == [[b"event"]] * 7
    assert [AlarmEvent.parse(fields[b"event"]) for _, fields in entries] == events


def test_chinese_is_utf8_on_the_stream(client: redis.Redis) -> None:
    publish(client, some(1))
    ((_, fields),) = on_stream(client)
    assert "交互屏组装A线".encode() in fields[b"event"]


def test_any_number_of_events_is_published_from_any_iterable(client: redis.Redis) -> None:
    events = some(1203)
    entry_ids = publish(client, iter(events))
    assert len(set(entry_ids)) == 1203
    assert client.xlen(STREAM) == 1203
    published = [json.loads(fields[b"event"])["event_id"] for _, fields in on_stream(client)]
    assert published == [event.event_id for event in events]


def test_the_largest_events_are_published(client: redis.Redis) -> None:
    large = some(1)[0].model_dump() | {"attributes": {"pad": "x" * 65_000}}
    events = [AlarmEvent(**large | {"event_id": str(number)}) for number in range(40)]
    assert len(publish(client, events)) == 40


def test_nothing_to_publish_needs_no_broker() -> None:
    with connect("redis://127.0.0.1:1/0") as client:
        assert publish(client, []) == []


def test_entry_ids_are_text_also_when_the_address_asks_for_decoding(broker_url: str) -> None:
    with connect(f"{broker_url}?decode_responses=True") as client:
        (entry_id,) = publish(client, some(1))
    assert isinstance(entry_id, str)


def test_a_broker_that_is_away_has_confirmed_nothing() -> None:
    error = sent_to("redis://127.0.0.1:1/0", some(3))
    assert error.confirmed == 0
    assert "cannot be reached" in str(error)
    assert "0 alarms were confirmed" in str(error)
    assert "send the same events again is safe" in str(error)


def test_a_stream_of_another_type_is_a_refusal(client: redis.Redis, broker_url: str) -> None:
    client.set(STREAM, "not a stream")
    error = sent_to(broker_url, some(3))
    assert error.confirmed == 0
    assert "WRONGTYPE" in error.cause


def test_a_full_broker_confirms_only_what_came_before() -> None:
    full = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
    with BrokenBroker([CONFIRMED] * 502 + [full] * 98) as broker:
        error = sent_to(broker.url, some(600))
    assert error.confirmed == 502
    assert "used memory" in error.cause
    assert "502 alarms were confirmed" in str(error)


def test_a_connection_lost_between_answers_confirms_only_whole_chunks() -> None:
    with BrokenBroker([CONFIRMED] * 503) as broker:
        error = sent_to(broker.url, some(600))
    assert error.confirmed == 500
    assert "cannot be reached" in error.cause


def test_a_broker_that_loses_the_connection_is_not_sent_the_same_twice() -> None:
    with BrokenBroker([CONFIRMED] * 3) as broker:
        sent_to(broker.url, some(5))
        assert len(broker.entries) == 3


def test_a_frozen_broker_is_given_up() -> None:
    with BrokenBroker([CONFIRMED], frozen=True) as broker:
        began = time.monotonic()
        error = sent_to(f"{broker.url}?socket_timeout=0.2", some(2))
        assert time.monotonic() - began < 5
    assert error.confirmed == 0
    assert "does not answer" in error.cause


@pytest.mark.parametrize(
    "url", ["redis://127.0.0.1:6379/0", "rediss://127.0.0.1:6379/0", "unix:///run/v.sock"]
)
def test_every_wait_is_bounded_on_every_kind_of_connection(url: str) -> None:
    with connect(url) as client:
        options = client.connection_pool.connection_kwargs
        connection = client.connection_pool.make_connection()
    assert (options["socket_connect_timeout"], options["socket_timeout"]) == (3, 5)
    assert options["protocol"] == 2
    assert connection.retry.get_retries() == 0


def test_a_wrong_password_is_said_and_not_shown() -> None:
    refusal = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"
    with BrokenBroker([], refusal=refusal) as broker:
        error = sent_to(f"redis://:s3cret@127.0.0.1:{broker.port}/0", some(1))
    assert "wants another user or password" in error.cause
    assert "s3cret" not in str(error)


def test_a_unix_socket_is_a_way_to_the_broker_too(tmp_path: Path) -> None:
    with BrokenBroker([CONFIRMED], path=tmp_path / "v.sock") as broker, connect(broker.url) as client:
        assert publish(client, some(1)) == ["1-1"]
        assert [AlarmEvent.parse(entry) for entry in broker.entries] == some(1)


def test_events_are_sent_again_without_harm_to_their_identity(client: redis.Redis) -> None:
    first = publish(client, some(2))
    second = publish(client, some(2))
    assert not set(first) & set(second)
    parsed = [AlarmEvent.parse(fields[b"event"]) for _, fields in on_stream(client)]
    assert len({(event.source, event.event_id, event.digest()) for event in parsed}) == 2
