"""What a worker takes from Celery's own list: our tasks' messages and nothing else."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from celery import Celery
from hypothesis import given
from hypothesis import strategies as st

from db.queries.alarms.dispatch import DueAlarm
from producers.settings import BrokerSettings
from tests import rubbish
from tests.rubbish.messages import EMBED, changed, message
from worker import tasks
from worker.app import build_app
from worker.broker.hints import MAX_HINT_BYTES, NotATask, renewed
from worker.settings import WorkerSettings

KINDS = dict(rubbish.on_celerys_lists())
TOKEN = "0123456789abcdef" * 2


def read(raw: bytes) -> tuple[dict[str, Any], list[Any]]:
    """What kombu will read: the message and its body."""
    found = json.loads(renewed(raw))
    return found, json.loads(base64.b64decode(found["body"]))


def reason(raw: bytes) -> str:
    with pytest.raises(NotATask) as caught:
        renewed(raw)
    return str(caught.value)


def test_there_are_two_hundred_kinds_of_rubbish_and_no_two_are_alike() -> None:
    named = list(rubbish.on_celerys_lists())
    assert len(named) >= 200
    assert len({name for name, _ in named}) == len({raw for _, raw in named}) == len(named)


@pytest.mark.parametrize("kind", KINDS)
def test_rubbish_is_no_task_and_one_line_says_why(kind: str) -> None:
    said = reason(KINDS[kind])
    assert said
    assert said.isprintable()
    assert len(said) <= 200


@pytest.fixture
def app(broker_url: str) -> Iterator[Celery]:
    app = build_app(BrokerSettings(broker_url=broker_url), WorkerSettings())
    yield app
    app.close()


def sent(broker_url: str) -> bytes:
    with redis.Redis.from_url(broker_url) as client:
        (raw,) = [raw for name in tasks.queue_lists() for raw in client.lrange(name, 0, -1)]
        assert isinstance(raw, bytes)
        return raw


def test_what_the_dispatcher_sends_for_an_alarm_is_taken_with_all_that_celery_reads(
    app: Celery, broker_url: str
) -> None:
    tasks.send(app, DueAlarm(7, "交互屏组装A线\n", "E401", "e-1", 700))
    before = json.loads(sent(broker_url))
    after, body = read(sent(broker_url))
    assert body == [[], {"alarm_id": 7}, EMBED]
    assert after["headers"] == before["headers"] | {"compression": None}
    dropped = {"argsrepr", "kwargsrepr"}  # stand in the headers too
    kept = {name: value for name, value in before["properties"].items() if name not in dropped}
    assert after["properties"] == kept | {"delivery_tag": after["properties"]["delivery_tag"]}
    assert after["properties"]["delivery_tag"] != before["properties"]["delivery_tag"]
    assert set(after) == set(before)


def test_what_the_dispatcher_sends_for_a_probe_is_taken(app: Celery, broker_url: str) -> None:
    tasks.send_probe(app, TOKEN)
    after, body = read(sent(broker_url))
    assert (after["headers"]["task"], body) == (tasks.CLAIM_PROBE, [[], {"token": TOKEN}, EMBED])


@pytest.mark.parametrize("character", ["交", "\U0001f525", "\U000e0001", "\x85", "'", "\\"])
def test_the_longest_names_fit(app: Celery, broker_url: str, character: str) -> None:
    tasks.send(app, DueAlarm(2**63 - 1, character * 200, character * 100, character * 200, 1))
    assert len(sent(broker_url)) < MAX_HINT_BYTES
    assert read(sent(broker_url))[1][1] == {"alarm_id": 2**63 - 1}


def test_what_kombu_put_back_onto_the_list_is_taken_again() -> None:
    back = message(headers={"redelivered": True}) | {"redelivered": True}
    back["properties"]["delivery_info"]["redelivered"] = True
    assert read(json.dumps(back).encode())[1] == [[], {"alarm_id": 1}, EMBED]


def test_nothing_unknown_goes_on_to_celery() -> None:
    strange: dict[str, Any] = {"chord": "x", "get": 1, "__type__": "uuid", "traceparent": "00-1"}
    whole = message(headers=strange, properties=strange) | strange
    whole["properties"]["delivery_info"] |= strange
    whole["body"] = rubbish.body({"alarm_id": 7}, embed=EMBED | {"__type__": "uuid"})
    after, body = read(json.dumps(whole).encode())
    assert body == [[], {"alarm_id": 7}, EMBED]
    for part in (after, after["headers"], after["properties"], after["properties"]["delivery_info"]):
        assert not strange.keys() & part.keys()


def test_each_message_has_a_delivery_tag_of_its_own() -> None:
    raw = rubbish.raw(properties={"delivery_tag": "x" * 1000})
    tags = {read(raw)[0]["properties"]["delivery_tag"] for _ in range(3)}
    assert len(tags) == 3
    assert all(len(tag) == 36 for tag in tags)


def test_a_reason_names_the_place_and_quotes_no_value() -> None:
    assert reason(rubbish.raw(headers={"eta": "s3cret"})) == "headers.eta: Input should be null"
    assert reason(changed("body", "s3cret!")) == "body: is not base64"
    shown = reason(changed("body", rubbish.body({"alarm_id": "s3cret"})))
    assert shown == "body.1.alarm_id: Input should be a valid integer"
    assert reason(b"s3cret").startswith("Invalid JSON: ")
    assert "\n" not in reason(changed("body", rubbish.body({"alarm_id": 1, "forged\nline": 1})))


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(part=st.sampled_from(["", "headers", "properties"]), value=ANY_JSON, data=st.data())
def test_whatever_stands_in_a_message_it_is_a_task_of_ours_or_none(
    part: str, value: Any, data: st.DataObject
) -> None:
    whole = message()
    place = whole[part] if part else whole
    place[data.draw(st.sampled_from(sorted(place)))] = value
    try:
        after, body = read(json.dumps(whole).encode())
    except NotATask:
        return
    assert after["headers"]["task"] == tasks.HANDLE_ALARM
    assert body == [[], {"alarm_id": 1}, EMBED]


@given(raw=st.binary(max_size=200))
def test_bytes_are_no_task(raw: bytes) -> None:
    assert reason(raw).isprintable()
