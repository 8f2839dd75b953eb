"""What lax servers answer, read as it was meant; and what strict servers are sent."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from worker.agent.endpoint import (
    MAX_ANSWER_BYTES,
    CompatibleChat,
    UnreadableAnswerError,
    compatible_chat,
    plain,
)
from worker.settings import AgentSettings

CALL = {"id": "call_0", "type": "function", "function": {"name": "query_shift", "arguments": "{}"}}


def a_model() -> CompatibleChat:
    return compatible_chat("a-model", AgentSettings(openai_base_url="http://127.0.0.1:9/v1"))


def read(message: Any, **more: Any) -> AIMessage:
    """The message as the client hands it to the agent."""
    model = a_model()
    body = {"choices": [{"message": message}]} | more
    made = model._create_chat_result(body).generations[0].message
    assert isinstance(made, AIMessage)
    return made


def arguments_of(written: Any) -> Any:
    made = read({"tool_calls": [{"function": {"name": "query_shift", "arguments": written}}]})
    assert made.invalid_tool_calls == []
    return made.tool_calls[0]["args"]


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"date": "2026-08-04"}', {"date": "2026-08-04"}),
        ({"date": "2026-08-04"}, {"date": "2026-08-04"}),
        (None, {}),
        ("null", {}),
        ("[]", {}),
        ("7", {"input": 7}),
        ('"触摸屏"', {"input": "触摸屏"}),
        ('["触摸屏"]', {"input": ["触摸屏"]}),
        ('{"a": "\\ud800\\u0000", "\\udfff": NaN}', {"a": "��", "�": None}),
    ],
)
def test_arguments_of_any_shape_are_an_object(written: Any, arguments: dict[str, Any]) -> None:
    assert arguments_of(written) == arguments


def test_arguments_that_are_no_json_are_kept_for_mending() -> None:
    made = read({"tool_calls": [{"function": {"name": "query_shift", "arguments": "{date: '\ud800"}}]})
    assert made.tool_calls == []
    assert made.invalid_tool_calls[0]["args"] == "{date: '�"


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "tool_calls": [CALL]},
        {"tool_calls": CALL},
        {"tool_calls": {"0": CALL}},
        {"tool_calls": [None, CALL, 7, {}, []]},
        {"tool_calls": [CALL["function"]]},
        {"tool_calls": [CALL | {"id": None, "type": None}]},
        {"tool_calls": [CALL | {"id": 7}]},
        {"function_call": CALL["function"]},
        {"role": "tool", "id": 7, "name": 8, "tool_calls": [CALL]},
    ],
)
def test_a_call_in_any_wrapping_is_a_call(message: dict[str, Any]) -> None:
    made = read(message)
    assert [(call["name"], call["args"]) for call in made.tool_calls] == [("query_shift", {})]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("好", "好"),
        (None, ""),
        ([{"type": "text", "text": "好"}, "的", {"type": "image"}, None], "好的"),
        (7, "7"),
        ({"a": "好"}, '{"a": "好"}'),
        ("\x00\ud800", "��"),
    ],
)
def test_content_of_any_shape_is_text(content: Any, text: str) -> None:
    assert read({"content": content}).content == text


def test_a_refusal_is_what_was_said() -> None:
    assert read({"content": None, "refusal": "不行"}).content == "不行"


@pytest.mark.parametrize(
    "body",
    [None, "ok", 7, [], {}, {"choices": None}, {"choices": []}, {"choices": "x"}, {"choices": [None]},
     {"choices": [{}]}, {"choices": [{"message": "好"}]}, {"error": {"message": "no"}}],
)  # fmt: skip
def test_what_holds_no_message_is_refused(body: Any) -> None:
    with pytest.raises(UnreadableAnswerError):
        plain(body)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 10}, (100, 10)),
        ({"prompt_tokens": 100.0, "completion_tokens": None}, (100, 0)),
        ({"prompt_tokens": "many", "completion_tokens": float("inf")}, (0, 0)),
        ({}, (0, 0)),
    ],
)
def test_tokens_are_counted_where_they_are_numbers(usage: Any, tokens: tuple[int, int]) -> None:
    made = read({"content": "好"}, usage=usage).usage_metadata
    assert made is not None
    assert (made["input_tokens"], made["output_tokens"]) == tokens


@pytest.mark.parametrize("usage", [None, 7, "many", []])
def test_usage_that_is_no_account_counts_nothing(usage: Any) -> None:
    assert read({"content": "好"}, usage=usage).usage_metadata is None


json_like: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "tool_calls", "function", "name", "arguments"]), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(json_like, json_like, json_like)
def test_any_answer_is_read_or_refused(content: Any, calls: Any, usage: Any) -> None:
    made = read({"content": content, "tool_calls": calls}, usage=usage)
    made.model_dump_json().encode()
    json.dumps([call["args"] for call in made.tool_calls], allow_nan=False)


def test_no_content_is_sent_as_null() -> None:
    model = a_model()
    call = tool_call(name="query_shift", args={}, id="call_1")
    history = [
        HumanMessage("报警"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("{}", tool_call_id="call_1"),
        AIMessage("好"),
    ]
    sent = model._get_request_payload(history)["messages"]
    assert [message["content"] for message in sent] == ["报警", "", "{}", "好"]


class _Pieces(httpx2.AsyncByteStream):
    def __init__(self, *pieces: bytes) -> None:
        self.pieces, self.closed = pieces, False

    async def __aiter__(self) -> Any:
        for piece in self.pieces:
            yield piece

    async def aclose(self) -> None:
        self.closed = True


async def _body(*pieces: bytes, **headers: str) -> bytes:
    """What the model's own client reads of such an answer."""
    response = httpx2.Response(200, headers=headers, stream=_Pieces(*pieces))
    client: Any = a_model().http_async_client
    for hook in client.event_hooks["response"]:
        await hook(response)
    return await response.aread()


def test_an_answer_is_read_up_to_a_length() -> None:
    half = b"x" * (MAX_ANSWER_BYTES // 2)
    assert len(asyncio.run(_body(half, half))) == MAX_ANSWER_BYTES
    with pytest.raises(UnreadableAnswerError, match="longer"):
        asyncio.run(_body(half, half, b"x"))


def test_an_answer_that_is_packed_unasked_is_not_unpacked() -> None:
    with pytest.raises(UnreadableAnswerError, match="packed"):
        asyncio.run(_body(b"x", **{"Content-Encoding": "gzip"}))
    assert asyncio.run(_body(b"x", **{"Content-Encoding": "identity"})) == b"x"
