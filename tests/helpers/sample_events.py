"""Alarm events to begin a test with, and how a refusal is looked at."""

import json
from typing import Any

import pytest

from producers.events import AlarmEvent, UnreadableEvent

REQUIRED = ("event_id", "source", "line_name", "fault_code", "occurred_at")
GOOD: dict[str, Any] = {
    "event_id": "e-1",
    "source": "plc-7",
    "line_name": "交互屏组装A线",
    "fault_code": "E401",
    "occurred_at": "2026-08-04T10:30:00+08:00",
}
FULL: dict[str, Any] = GOOD | {
    "equipment": "交互屏贴合机A1",
    "equipment_class": "贴合机",
    "severity": 700,
    "state": "cleared",
    "message": "触摸屏通讯中断\n第二行",
    "attributes": {"温度": 36.6, "tags": ["a", None, True]},
}


def raw(**fields: Any) -> bytes:
    return json.dumps(GOOD | fields).encode()


def refused(data: bytes) -> UnreadableEvent:
    with pytest.raises(UnreadableEvent) as caught:
        AlarmEvent.parse(data)
    assert caught.value.detail == str(caught.value)
    assert caught.value.detail.isprintable(), "one line that can be stored and printed"
    assert len(caught.value.detail) <= 500
    return caught.value
