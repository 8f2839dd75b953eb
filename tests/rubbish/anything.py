"""Rubbish for any place: bytes, JSON of other things, values of other types, five megabytes."""

import base64
import gzip
import json
import pickle
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from tests.helpers.sample_events import GOOD
from tests.rubbish.messages import EMBED, changed, message, raw
from worker.tasks import HANDLE_ALARM

FIVE_MB = 5 * 1024 * 1024
TASK: dict[str, Any] = {
    "task": "os.system",
    "args": ["true"],
    "kwargs": {},
    "options": {},
    "subtask_type": None,
}

Kinds = Iterator[tuple[str, bytes]]

WRONG: dict[str, Any] = {
    "null": None,
    "true": True,
    "a number": 7,
    "a fraction": 0.5,
    "a list": ["x"],
    "an object": {"x": "y"},
    "other text": "x",
    "a long text": "x" * 3000,
}


def no_json() -> Kinds:
    right = raw()
    yield from {
        "nothing": b"",
        "a blank": b" ",
        "a NUL": b"\x00",
        "a word": b"PING",
        "bytes": bytes(range(256)),
        "not UTF-8": b"\xff\xfe\xfa",
        "half a character": "交".encode()[:2],
        "terminal sequences": b"\x1b[2J\x1b]0;title\x07",
        "a forged log line": b"\n2026-08-04 10:30:00 ERROR worker: all is lost\n",
        "GBK": '{"line": "交互屏"}'.encode("gbk"),
        "UTF-16": json.dumps(message()).encode("utf-16"),
        "compressed": gzip.compress(right, mtime=0),
        "pickled": pickle.dumps({"task": HANDLE_ALARM}),
        "a pickle that calls": b"cos\nsystem\n(S'true'\ntR.",
        "YAML": b"!!python/object/apply:os.system ['true']",
        "XML": b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        "an HTTP request": b"GET / HTTP/1.1\r\nHost: andon\r\n\r\n",
        "the broker's own protocol": b"*1\r\n$8\r\nFLUSHALL\r\n",
        "a picture": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        "single quotes": b"{'task': 'andon.handle_alarm'}",
        "a comma too many": b'{"task": 1,}',
        "a comment": b'{"task": 1} // for later',
        "two messages": right + right,
        "a message and more": right + b"!",
        "the message in base64": base64.b64encode(right),
    }.items()
    for part in range(1, 10):
        yield f"cut off after {part} tenths", right[: len(right) * part // 10]


def other_json() -> Kinds:
    deep = 10_000
    for name, text in {
        "null": "null",
        "true": "true",
        "a number": "7",
        "NaN": "NaN",
        "minus infinity": "-Infinity",
        "a number beyond a float": "1e999",
        "a number of 5,000 digits": "9" * 5000,
        "text": '"andon.handle_alarm"',
        "half a surrogate pair": r'"\ud800"',
        "an empty list": "[]",
        "a list of messages": json.dumps([message(), message()]),
        "a body alone": json.dumps([[], {"alarm_id": 1}, EMBED]),
        "an empty object": "{}",
        "an alarm": json.dumps(GOOD),
        "lists 10,000 deep": "[" * deep + "]" * deep,
        "objects 10,000 deep": '{"a":' * deep + "1" + "}" * deep,
        "a task in Celery's first protocol": json.dumps(
            {"task": HANDLE_ALARM, "id": str(uuid4()), "args": [], "kwargs": {"alarm_id": 1}}
        ),
        "a chain of Celery's": json.dumps({"task": "celery.chain", "kwargs": {"tasks": [TASK]}}),
        "a typed value of kombu's": '{"__type__": "uuid", "__value__": "none"}',
    }.items():
        yield name, text.encode()


def huge() -> Kinds:
    yield "5 MB of bytes", b"\xff" * FIVE_MB
    yield "5 MB of blanks", b" " * FIVE_MB
    yield "5 MB of brackets", b"[" * FIVE_MB
    yield "5 MB of text", b'"' + b"x" * FIVE_MB + b'"'
    yield "5 MB in a body", changed("body", base64.b64encode(b"[" * FIVE_MB).decode())
    yield "5 MB in a header", raw(headers={"kwargsrepr": "x" * FIVE_MB})
    yield "64 KiB in a header", raw(headers={"kwargsrepr": "x" * 64 * 1024})
