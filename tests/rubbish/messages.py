"""A message of one of our tasks as kombu writes it, right but for what a test changes."""

import base64
import json
from typing import Any
from uuid import uuid4

from worker.tasks import HANDLE_ALARM

EMBED: dict[str, Any] = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}


def body(arguments: Any, args: Any = (), embed: Any = EMBED) -> str:
    return base64.b64encode(json.dumps([args, arguments, embed]).encode()).decode()


def message(
    alarm_id: int = 1, headers: dict[str, Any] | None = None, properties: dict[str, Any] | None = None
) -> dict[str, Any]:
    """As kombu puts it onto the list; `headers` and `properties` replace some of its own."""
    task_id = str(uuid4())
    right_headers: dict[str, Any] = {
        "lang": "py",
        "task": HANDLE_ALARM,
        "id": task_id,
        "shadow": None,
        "eta": None,
        "expires": None,
        "group": None,
        "group_index": None,
        "retries": 0,
        "timelimit": [None, None],
        "root_id": task_id,
        "parent_id": None,
        "argsrepr": "()",
        "kwargsrepr": f"{{'alarm_id': {alarm_id}, 'line': '交互屏组装A线'}}",
        "origin": "gen1@host",
        "ignore_result": None,
        "replaced_task_nesting": 0,
        "stamped_headers": None,
        "stamps": {},
    }
    right_properties: dict[str, Any] = {
        "correlation_id": task_id,
        "reply_to": str(uuid4()),
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": "andon"},
        "priority": 3,
        "body_encoding": "base64",
        "delivery_tag": str(uuid4()),
    }
    return {
        "body": body({"alarm_id": alarm_id}),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": right_headers | (headers or {}),
        "properties": right_properties | (properties or {}),
    }


def raw(
    alarm_id: int = 1, headers: dict[str, Any] | None = None, properties: dict[str, Any] | None = None
) -> bytes:
    """The same as bytes."""
    return json.dumps(message(alarm_id, headers, properties)).encode()


def changed(field: str, value: Any) -> bytes:
    """With another value in one of the envelope's own fields."""
    return json.dumps(message() | {field: value}).encode()


def without(part: str | None, name: str) -> bytes:
    whole = message()
    del (whole[part] if part else whole)[name]
    return json.dumps(whole).encode()
