"""Rubbish for Celery's own lists: each place of a message of ours, missing, or with something wrong in it."""

import base64
import json
import pickle
from typing import Any
from uuid import uuid4

from tests.rubbish.anything import TASK, WRONG, Kinds, huge, no_json, other_json
from tests.rubbish.messages import EMBED, body, changed, message, raw, without
from worker.tasks import CLAIM_PROBE

SHOUTED = "5D37AEBC-F946-4731-A155-21F492CEC711"


def on_celerys_lists() -> Kinds:
    """No two alike, by name or by content."""
    yield from no_json()
    yield from other_json()
    yield from _wrong_envelopes()
    yield from _wrong_headers()
    yield from _wrong_properties()
    yield from _wrong_bodies()
    yield from huge()


def _wrong_envelopes() -> Kinds:
    for field in ("body", "content-encoding", "content-type", "headers", "properties"):
        yield f"no {field}", without(None, field)
        for kind, value in WRONG.items():
            yield f"{field} is {kind}", changed(field, value)
    for content_type in (
        "application/x-python-serialize",
        "application/x-yaml",
        "application/x-msgpack",
        "application/data",
        "text/plain",
    ):
        yield f"content-type {content_type}", changed("content-type", content_type)
    for encoding in ("binary", "latin-1", "utf-16", "no_such", "UTF-8\n"):
        yield f"content-encoding {encoding!r}", changed("content-encoding", encoding)


def _wrong_headers() -> Kinds:
    for field in ("lang", "task", "id"):
        yield f"no header {field}", without("headers", field)
        for kind, value in WRONG.items():
            yield f"header {field} is {kind}", raw(headers={field: value})
    for name in ("celery.backend_cleanup", "celery.chord", "andon.HANDLE_ALARM", "andon.handle_alarm\n", ""):
        yield f"task {name!r}", raw(headers={"task": name})
    for task_id in (-1, 2**70, "", "../../etc/passwd", "x\n2026-08-04 ERROR", SHOUTED, "1" * 36):
        yield f"id {task_id!r}", raw(headers={"id": task_id})
    strange: dict[str, dict[str, Any]] = {
        "an ETA": {"eta": "2099-01-01T00:00:00+00:00"},
        "an ETA that is none": {"eta": "tomorrow"},
        "expired": {"expires": "2000-01-01T00:00:00+00:00"},
        "an expiry that is none": {"expires": [1]},
        "a group": {"group": str(uuid4())},
        "a place in a group": {"group_index": 3},
        "a shadow name": {"shadow": "andon.handle_alarm\x1b[2J"},
        "retried": {"retries": 3},
        "retried -1 times": {"retries": -1},
        "a time limit": {"timelimit": [1, 1]},
        "a time limit of text": {"timelimit": "soon"},
        "a root that is no id": {"root_id": {"$gt": ""}},
        "a parent that is no id": {"parent_id": 7},
        "names of stamps": {"stamped_headers": ["x"]},
        "a stamp": {"stamps": {"x": ["y"]}},
        "stamps in a list": {"stamps": [["x"]]},
        "compressed with gzip": {"compression": "gzip"},
        "compressed with what is not there": {"compression": "application/x-none"},
        "replaced": {"replaced_task_nesting": 1},
        "a result that is wanted": {"ignore_result": "no"},
        "arguments shown as a list": {"argsrepr": [1]},
        "arguments shown as an object": {"kwargsrepr": {"alarm_id": 1}},
        "an origin in a list": {"origin": ["host"]},
    }
    for name, headers in strange.items():
        yield name, raw(headers=headers)


def _wrong_properties() -> Kinds:
    for field in ("correlation_id", "delivery_info", "priority", "body_encoding", "delivery_tag"):
        yield f"no property {field}", without("properties", field)
    for field in ("correlation_id", "delivery_info", "delivery_tag", "priority", "body_encoding"):
        for kind in ("null", "true", "a fraction", "a list", "an object"):
            yield f"property {field} is {kind}", raw(properties={field: WRONG[kind]})
    for priority in (-1, 10, 2**70, "3", 3.0, [3]):
        yield f"priority {priority!r}", raw(properties={"priority": priority})
    for name, info in {
        "another queue": {"exchange": "", "routing_key": "alarms"},
        "another exchange": {"exchange": "celery.pidbox", "routing_key": "andon"},
        "no queue": {"exchange": ""},
        "a queue in a list": {"exchange": "", "routing_key": ["andon"]},
    }.items():
        yield name, raw(properties={"delivery_info": info})
    strange: dict[str, dict[str, Any]] = {
        "a reply to somebody": {"reply_to": "celery.pidbox"},
        "a reply to a list": {"reply_to": ["x"]},
        "a tag that is a number": {"delivery_tag": 2**70},
        "a body in another coding": {"body_encoding": "rot13"},
        "a body in plain text": {"body_encoding": "utf-8"},
        "a mode of delivery that is none": {"delivery_mode": "fast"},
    }
    for name, properties in strange.items():
        yield name, raw(properties=properties)


def _wrong_bodies() -> Kinds:
    for name, text in {
        "base64 that is none": "*" * 40,
        "base64 cut off": body({"alarm_id": 1})[:-3],
        "base64 with a foreign sign in it": "*" + body({"alarm_id": 1}),
        "base64 that is not ASCII": "交互屏",
        "base64 of rubbish": base64.b64encode(bytes(range(256))).decode(),
        "base64 of a pickle": base64.b64encode(pickle.dumps([[], {"alarm_id": 1}, EMBED])).decode(),
        "base64 of nothing": "",
        "a body that is not coded": json.dumps([[], {"alarm_id": 1}, EMBED]),
        "a body 10,000 deep": base64.b64encode(b"[" * 10_000).decode(),
        "an id twice, the second time as text": base64.b64encode(
            b'[[], {"alarm_id": 1, "alarm_id": "1"}, {}]'
        ).decode(),
    }.items():
        yield name, changed("body", text)
    contents: dict[str, Any] = {
        "null": None,
        "an object": {"alarm_id": 1},
        "an empty list": [],
        "one part": [[]],
        "two parts": [[], {"alarm_id": 1}],
        "four parts": [[], {"alarm_id": 1}, EMBED, 1],
    }
    for name, content in contents.items():
        yield f"a body of {name}", changed("body", base64.b64encode(json.dumps(content).encode()).decode())
    for alarm_id in (None, True, 7.0, 7.5, "7", "", [7], {"a": 7}, 0, -7, 2**63, 2**70, float("nan")):
        yield f"alarm {alarm_id!r}", changed("body", body({"alarm_id": alarm_id}))
    for name, arguments in {
        "no arguments": {},
        "arguments in a list": ["alarm_id", 7],
        "another argument": {"id": 7},
        "an argument too many": {"alarm_id": 7, "shell": "true"},
        "an argument with a strange name": {"alarm_id": 7, "\x1b[2J\n": 1},
        "a probe's argument": {"token": "0" * 32},
        "a typed argument of kombu's": {"alarm_id": {"__type__": "decimal", "__value__": "x"}},
    }.items():
        yield name, changed("body", body(arguments))
    yield "an argument by its place", changed("body", body({"alarm_id": 7}, args=[7]))
    yield "an argument in an object", changed("body", body({"alarm_id": 7}, args={"0": 7}))
    for name in EMBED:
        yield f"a {name}", changed("body", body({"alarm_id": 7}, embed=EMBED | {name: [TASK]}))
        yield f"a {name} of text", changed("body", body({"alarm_id": 7}, embed=EMBED | {name: "os.system"}))
    yield "no embedding", changed("body", body({"alarm_id": 7}, embed=None))
    yield "an embedding in a list", changed("body", body({"alarm_id": 7}, embed=[None]))
    for token in (None, 7, "", "0" * 31, "0" * 33, "x" * 32, "0" * 32 + "\n", ["0" * 32]):
        yield f"probe {token!r}", _probe({"token": token})
    yield "a probe for an alarm", _probe({"alarm_id": 7})


def _probe(arguments: dict[str, Any]) -> bytes:
    return json.dumps(message(headers={"task": CLAIM_PROBE}) | {"body": body(arguments)}).encode()
