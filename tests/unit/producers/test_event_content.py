"""An event as JSON, and the digest of what it says."""

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from producers.events import AlarmEvent
from tests.helpers.sample_events import FULL, GOOD, raw


def test_json_is_one_line_with_chinese_unescaped() -> None:
    text = AlarmEvent.parse(json.dumps(FULL).encode()).to_json()
    assert "交互屏贴合机A1" in text
    assert "\n" not in text
    assert json.loads(text) == FULL | {"occurred_at": "2026-08-04T02:30:00Z"}


def test_the_digest_is_that_of_the_content() -> None:
    event = AlarmEvent.parse(json.dumps(FULL).encode())
    turned = dict(reversed(FULL.items())) | {"occurred_at": "2026-08-03T22:30:00-04:00"}
    turned["attributes"] = dict(reversed(FULL["attributes"].items()))
    for same in (
        json.dumps(turned),
        json.dumps(turned, ensure_ascii=False, indent=3),
        event.to_json(),
        json.dumps(FULL | {"line_name": f" {FULL['line_name']} "}),
        json.dumps(FULL | {"severity": 700.0}),
    ):
        assert AlarmEvent.parse(same.encode()).digest() == event.digest()
    assert len(event.digest()) == 64
    assert int(event.digest(), 16) >= 0


def test_a_default_and_the_same_value_sent_have_one_digest() -> None:
    sent = raw(severity=500, state="active", message="", equipment=None, attributes={})
    assert AlarmEvent.parse(sent).digest() == AlarmEvent.parse(raw()).digest()


def test_numbers_that_json_does_not_tell_apart_have_one_digest() -> None:
    digests = {AlarmEvent.parse(raw(attributes={"n": value})).digest() for value in (5, 5.0)} | {
        AlarmEvent(**GOOD, attributes={"n": value}).digest() for value in (5, 5.0)
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"event_id": "e-2"},
        {"source": "plc-8"},
        {"line_name": "交互屏组装B线"},
        {"equipment": "交互屏贴合机B1"},
        {"equipment_class": "老化架"},
        {"fault_code": "e401"},
        {"severity": 701},
        {"state": "active"},
        {"message": "触摸屏通讯中断"},
        {"occurred_at": "2026-08-04T10:30:00.001+08:00"},
        {"occurred_at": "2026-08-04T10:30:00Z"},
        {"attributes": {}},
        {"attributes": FULL["attributes"] | {"温度": 36.7}},
        {"attributes": FULL["attributes"] | {"tags": ["a", None, 1]}},
        {"attributes": FULL["attributes"] | {"tags": [None, "a", True]}},
    ],
)
def test_other_content_has_another_digest(other: dict[str, Any]) -> None:
    event = AlarmEvent.parse(json.dumps(FULL).encode())
    assert AlarmEvent.parse(json.dumps(FULL | other).encode()).digest() != event.digest()


def test_an_event_does_not_share_its_attributes_with_who_made_it() -> None:
    attributes = {"tags": ["a"]}
    event = AlarmEvent(**GOOD, attributes=attributes)
    attributes["tags"].append("b")
    assert event.attributes == {"tags": ["a"]}


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, object(), {1: 2}, {"a", "b"}, b"bytes", datetime.now(UTC)]
)
def test_python_values_that_json_does_not_have_are_refused(value: Any) -> None:
    with pytest.raises(ValidationError, match="wants"):
        AlarmEvent(**GOOD, attributes={"a": value})
