"""Whatever a model writes: what is made of it can be kept, sent back, and given to a tool."""

import json
import re
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.tools import BaseTool

from db.models.order import StepName
from tests.helpers.written_calls import meant, native
from tools.generate_work_order import generate_work_order
from tools.query_shift import query_shift
from tools.query_spare_parts import query_spare_parts
from tools.search_manual import search_manual
from worker.agent.loose import parsed
from worker.agent.repair import MAX_CALLS_A_TURN, MAX_CONTENT, arguments_for, repaired, shortened

TOOLS: dict[StepName, BaseTool] = {
    StepName(tool.name): tool for tool in (search_manual, query_shift, query_spare_parts, generate_work_order)
}
PARTS, ORDER = StepName.QUERY_SPARE_PARTS, StepName.GENERATE_WORK_ORDER

SCRAPS = [
    *"{}[]\"':,\\\n()#\x00\ud800", "```", "```json", "<think>", "</think>", "<tool_call>", "</tool_call>",
    "Action: ", "Action Input: ", "query_shift", "search_manual", "name", "arguments", "part", "触摸屏",
    "null", "NaN", "1e999", "//", "/*",
]  # fmt: skip

any_text = st.text(st.characters(), max_size=40)  # lone surrogates too
storable = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
storable = storable.filter(lambda text: bool(text.strip()) and "\0" not in text)
json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from([*StepName, "", "x", "functions.query_shift"]) | any_text
keys = st.sampled_from(["part", "diagnosis", "actions", "input", "arguments", "args", "name"]) | any_text
objects = st.dictionaries(keys, json_like, max_size=4)
pieces = (
    st.lists(st.sampled_from(SCRAPS), max_size=30).map("".join)
    | any_text
    | json_like.map(lambda value: json.dumps(value, ensure_ascii=False))
)
blocks = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": pieces}), max_size=3)
ids = st.none() | st.just("call_0")
calls = st.builds(lambda name, args, own: tool_call(name=name, args=args, id=own), names, objects, ids)
bad_calls = st.builds(
    lambda name, args, own: invalid_tool_call(name=name, args=args, id=own, error="not JSON"),
    st.none() | names,
    st.none() | pieces,
    ids,
)
messages = st.builds(
    lambda content, good, bad: AIMessage(content, tool_calls=good, invalid_tool_calls=bad),
    pieces | blocks,
    st.lists(calls, max_size=12),
    st.lists(bad_calls, max_size=12),
)


@settings(max_examples=60, deadline=None)
@given(messages)
def test_any_message_becomes_one_that_can_be_kept_and_sent_back(message: AIMessage) -> None:
    made = repaired(message)
    assert len(made.tool_calls) <= MAX_CALLS_A_TURN
    assert made.invalid_tool_calls == []
    assert len({call["id"] for call in made.tool_calls}) == len(made.tool_calls)
    assert isinstance(made.content, str)
    assert len(made.content) <= MAX_CONTENT
    assert "\x00" not in made.content
    for call in made.tool_calls:
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call["name"])
        assert isinstance(call["args"], dict)
        sent = json.dumps(call["args"], ensure_ascii=False, allow_nan=False)
        assert b"\\u0000" not in sent.encode()
        assert json.loads(sent) == call["args"]
        assert json.dumps(shortened(call["args"]), allow_nan=False)
    made.model_dump_json().encode()


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(StepName), objects)
@example(PARTS, {"input": "input"})
@example(PARTS, {"input": {"input": {"input": {"input": "x"}}}})
@example(ORDER, {"actions": "[" * 500})
@example(ORDER, {"actions": [[[[]]]], "diagnosis": {}})
@example(ORDER, {"actions": "a\n" * 10_000, "diagnosis": "d" * 100_000})
def test_any_arguments_become_ones_that_the_tool_takes(step: StepName, written: dict[str, Any]) -> None:
    own = arguments_for(step, written)
    schema: Any = TOOLS[step].tool_call_schema
    assert schema.model_validate(own, strict=True)
    assert set(own) <= set(schema.model_fields)
    sent = json.dumps(own, ensure_ascii=False, allow_nan=False)
    assert len(sent.encode()) < 300_000
    assert "\\u0000" not in sent


@settings(max_examples=100, deadline=None)
@given(pieces | st.none() | json_like)
def test_arguments_of_any_writing_are_read_as_an_object(arguments: Any) -> None:
    assert isinstance(parsed(arguments), dict)


@given(st.lists(storable, max_size=8))
def test_well_written_arguments_are_not_touched(actions: list[str]) -> None:
    order = {"diagnosis": "诊断", "actions": actions}
    message = AIMessage("", tool_calls=[native(ORDER, order)])
    assert repaired(message).tool_calls[0]["args"] == order
    assert meant(message) == [("generate_work_order", order)]
