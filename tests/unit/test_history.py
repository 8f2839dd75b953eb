"""The strict server of the tests finds what is not well-formed: a check that could not fail would be none."""

import json
from typing import Any

import pytest

from tests.helpers.history import MAX_TOOL_RESULT_BYTES, complaints


def a_request() -> dict[str, Any]:
    call = {"id": "call_1", "type": "function", "function": {"name": "query_shift", "arguments": "{}"}}
    return {
        "model": "m",
        "tools": [{}, {}, {}, {}],
        "messages": [
            {"role": "system", "content": "规程"},
            {"role": "user", "content": "报警"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "{}", "tool_call_id": "call_1"},
            {"role": "assistant", "content": "好"},
            {"role": "user", "content": "继续"},
        ],
    }


def found(body: dict[str, Any]) -> list[str]:
    return complaints(json.dumps(body).encode(), body)


def test_a_well_formed_request_is_taken() -> None:
    assert found(a_request()) == []


def _set(body: dict[str, Any], n: int, **fields: Any) -> None:
    body["messages"][n] |= fields


def _call(body: dict[str, Any], **fields: Any) -> None:
    body["messages"][2]["tool_calls"][0] |= fields


def _function(body: dict[str, Any], **fields: Any) -> None:
    body["messages"][2]["tool_calls"][0]["function"] |= fields


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda body: body.pop("tools"), "tools"),
        (lambda body: _set(body, 2, content=None), "content None"),
        (lambda body: _set(body, 4, content=" "), "nothing said"),
        (lambda body: _set(body, 4, content=[]), "content []"),
        (lambda body: _set(body, 1, content="\x00"), "NUL"),
        (lambda body: _set(body, 3, content="长" * MAX_TOOL_RESULT_BYTES), "tool result"),
        (lambda body: _set(body, 1, name="x"), "unknown fields"),
        (lambda body: _set(body, 4, tool_calls=[]), "empty list"),
        (lambda body: body["messages"].pop(0), "begins"),
        (lambda body: body["messages"].pop(), "ends with"),
        (lambda body: body["messages"].pop(3), "without an answer"),
        (lambda body: body["messages"].insert(4, body["messages"][4]), "assistant after assistant"),
        (lambda body: body["messages"].insert(4, body["messages"][3]), "no call"),
        (lambda body: _set(body, 3, tool_call_id="other"), "no call"),
        (lambda body: body["messages"][2]["tool_calls"].append(body["messages"][2]["tool_calls"][0]), "id"),
        (lambda body: _call(body, id=None), "id None"),
        (lambda body: _call(body, type="x"), "of type"),
        (lambda body: _function(body, name="查手册"), "name"),
        (lambda body: _function(body, arguments="{"), "no JSON"),
        (lambda body: _function(body, arguments='{"a": NaN}'), "no JSON"),
        (lambda body: _function(body, arguments=None), "no JSON"),
        (lambda body: _function(body, arguments="[]"), "no object"),
        (lambda body: _function(body, arguments='{"a": "\\u0000"}'), "NUL"),
    ],
)
def test_what_a_strict_server_refuses_is_complained_of(spoil: Any, said: str) -> None:
    body = a_request()
    spoil(body)
    assert any(said in complaint for complaint in found(body)), found(body)
