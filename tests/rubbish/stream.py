"""Rubbish for the stream of alarms: entries without an event, and events that are none."""

import json
from collections.abc import Iterator
from typing import Any

from tests.helpers.sample_events import GOOD
from tests.rubbish.anything import FIVE_MB, WRONG, Kinds, huge, no_json, other_json


def in_the_stream() -> Iterator[tuple[str, dict[bytes, bytes]]]:
    """Entries of the stream of which each is rejected, by name: their fields."""
    right = json.dumps(GOOD).encode()
    yield from {
        "no event": {b"alarm": right},
        "an event in capitals": {b"EVENT": right},
        "a field without a name": {b"": right},
        "fields of bytes": {b"\xff\x00": b"\x00\xff", b"x": b"\n"},
        "300 fields": {b"field%d" % number: b"x" for number in range(300)},
        "5 MB in another field": {b"alarm": b"\x00" * FIVE_MB},
        "an event beside rubbish": {b"\xff": b"\xff", b"event": b"\xff"},
        "a probe that is none": {b"probe": b"x"},
        "a probe of 5 MB": {b"probe": b"0" * FIVE_MB},
        "an empty probe": {b"probe": b""},
        "no task": {b"not_a_task": b"x"},
    }.items()
    for name, event in _no_events():
        yield name, {b"event": event}


def _no_events() -> Kinds:
    yield from (
        (f"event: {name}", event)
        for name, event in (*no_json(), *other_json(), *huge())
        if name not in ("an alarm", "64 KiB in a header")
    )
    for field in GOOD:
        without_it = {name: value for name, value in GOOD.items() if name != field}
        yield f"event without {field}", json.dumps(without_it).encode()
        for kind in ("null", "true", "a number", "a list", "an object", "a long text"):
            yield f"event: {field} is {kind}", json.dumps(GOOD | {field: WRONG[kind]}).encode()
    wrong: dict[str, dict[str, Any]] = {
        "severity 0": {"severity": 0},
        "severity 2^70": {"severity": 2**70},
        "severity as text": {"severity": "700"},
        "severity NaN": {"severity": float("nan")},
        "a state that is none": {"state": "open"},
        "a state in a list": {"state": ["active"]},
        "attributes in a list": {"attributes": [1]},
        "a time without an offset": {"occurred_at": "2026-08-04T10:30:00"},
        "a time as a number": {"occurred_at": 1785810600},
        "a time before all": {"occurred_at": "0001-01-01T00:00:00+00:00"},
        "a NUL in a name": {"line_name": "a\x00b"},
        "a surrogate in a name": {"line_name": "\ud800"},
        "a name of blanks": {"line_name": "\u3000\u200b"},
        "a key that is a NUL": {"attributes": {"\x00": 1}},
        "attributes too deep": {"attributes": {"a": [[[[[[[[[1]]]]]]]]]}},
    }
    for name, fields in wrong.items():
        yield f"event: {name}", json.dumps(GOOD | fields).encode()
    yield "event: a key twice", json.dumps(GOOD).encode()[:-1] + b', "event_id": "e-2"}'
