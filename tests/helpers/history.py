"""What the strictest of servers would say of a request: the history in it must be well-formed."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

MAX_REQUEST_BYTES = 1_000_000
MAX_TOOL_RESULT_BYTES = 8 * 1024

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def complaints(raw: bytes, body: dict[str, Any]) -> list[str]:
    """Every reason to refuse the request; none for one that any server takes."""
    return [*_of_the_body(raw, body), *complaints_of_messages(body["messages"])]


def complaints_of_messages(messages: list[dict[str, Any]]) -> list[str]:
    return [*_of_the_turns(messages), *_of_the_calls(messages)]


def _of_the_body(raw: bytes, body: dict[str, Any]) -> Iterator[str]:
    if len(raw) > MAX_REQUEST_BYTES:
        yield f"a request of {len(raw)} bytes"
    if any(_UNSTORABLE.search(text) for text in _strings(body)):
        yield "a NUL or a lone surrogate"
    if len(body.get("tools") or []) != 4:
        yield "not the four tools"


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _strings(inner)


def _of_the_turns(messages: list[dict[str, Any]]) -> Iterator[str]:
    roles = [message["role"] for message in messages]
    if roles[:2] != ["system", "user"]:
        yield f"begins with {roles[:2]}"
    if roles[-1] not in ("user", "tool"):
        yield f"ends with {roles[-1]}"
    for before, after in pairwise(roles):
        if (before, after) in {("assistant", "assistant"), ("user", "user"), ("user", "tool")}:
            yield f"{after} after {before}"
    for message in messages:
        if not isinstance(message.get("content"), str):
            yield f"content {message.get('content')!r} of {message['role']}"
        elif not message["content"].strip() and not message.get("tool_calls"):
            yield f"nothing said by {message['role']}"
        elif message["role"] == "tool" and len(message["content"].encode()) > MAX_TOOL_RESULT_BYTES:
            yield f"a tool result of {len(message['content'].encode())} bytes"
        known = {"role", "content", "tool_calls", "tool_call_id"}
        if message.keys() - known:
            yield f"unknown fields {message.keys() - known}"
        if "tool_calls" in message and not message["tool_calls"]:
            yield "an empty list of tool calls"


def _of_the_calls(messages: list[dict[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"an answer to no call: {message['tool_call_id']}"
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            yield f"calls without an answer: {waiting}"
        waiting = set()
        for call in message.get("tool_calls") or []:
            if not isinstance(call["id"], str) or not _NAME.fullmatch(call["id"]) or call["id"] in seen:
                yield f"a call's id {call['id']!r}"
            seen.add(call["id"])
            waiting.add(call["id"])
            yield from _of_the_call(call)
    if waiting:
        yield f"calls without an answer: {waiting}"


def _of_the_call(call: dict[str, Any]) -> Iterator[str]:
    function = call["function"]
    if call["type"] != "function" or call.keys() != {"id", "type", "function"}:
        yield f"a call with {call.keys()} of type {call['type']!r}"
    if not _NAME.fullmatch(function["name"]):
        yield f"a tool's name {function['name']!r}"
    try:
        arguments = json.loads(function["arguments"], parse_constant=_no_constant)
    except (TypeError, ValueError) as error:
        yield f"arguments that are no JSON: {error}"
        return
    if not isinstance(arguments, dict):
        yield f"arguments that are no object: {function['arguments'][:100]}"
    elif any(_UNSTORABLE.search(text) for text in _strings(arguments)):
        yield "a NUL or a lone surrogate in the arguments"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
