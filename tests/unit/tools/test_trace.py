"""The account of a run: in the order of what happened, redacted at once, and never larger than its bound."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call

from db.settings import PERSONAL
from tools.redaction import Redactor
from tools.trace import MAX_ARGUMENTS, MAX_BYTES, MAX_REST, MAX_TEXT, Trace
from worker.agent.repair import repaired

KEY = "sk-secret-0123456789"
REDACTOR = Redactor(PERSONAL, [KEY])


def a_call(name: str = "query_shift", **arguments: Any) -> Any:
    return tool_call(name=name, args=arguments, id="call_0")


def size(trace: Trace) -> int:
    return len(json.dumps(trace.entries()))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("打 13812345678 或 138-1234-5678", "打 *** 或 ***"),
        ("电话：010-62345678，+86 138 1234 5678", "电话：***，***"),
        ("张伟 分机 2101, Anna ext. 3101", "张伟 ***, Anna ***"),
        ("zhang.wei+x@plant.example.com.", "***."),
        (f"key {KEY}!", "key ***!"),
    ],
)
def test_the_key_telephone_numbers_and_addresses_are_taken_out(text: str, left: str) -> None:
    assert REDACTOR.text(text, 1_000) == left


@pytest.mark.parametrize(
    "text",
    [
        "WO-20261130-0001、E401、TP-MT8071、CM-485-02",
        "2026-11-30T08:30:00+08:00 2026-11-30 08:30",
        "7b5b0c52-0d0b-5c8f-9d5a-138123456780",
        "库存 12345 件，24V，55 °C，next 2101",
        '{"quantity": 13, "score": 100.0}',
    ],
)
def test_what_is_no_personal_data_stays(text: str) -> None:
    assert REDACTOR.text(text, 1_000) == text


def test_a_plants_own_rule_stands_in_the_place_of_ours_and_the_key_goes_all_the_same() -> None:
    own = Redactor(["张.", "P[0-9]{6}"], [KEY])
    assert own.text(f"张伟 P123456 13812345678 {KEY}", 1_000) == "*** *** 13812345678 ***"
    assert Redactor([], [KEY]).value({KEY: [KEY, {"a": KEY}], "n": 1}, 1_000) == {
        "***": ["***", {"a": "***"}],
        "n": 1,
    }


def test_a_short_key_is_no_part_of_other_words() -> None:
    assert Redactor([], ["none"]).text("none, nonetheless, (none)", 1_000) == "***, nonetheless, (***)"


@pytest.mark.parametrize("before", range(0, 30, 7))
def test_no_half_of_a_secret_is_left_at_a_cut(before: int) -> None:
    trace = Trace(REDACTOR)
    trace.reminder("x" * (10_000 - before) + f"{KEY} 13812345678 {KEY}")
    trace.reminder("*** " * 2_600 + "." * before + f" {KEY} zhang.wei@plant.example.com")
    written = json.dumps(trace.entries())
    assert not any(KEY[:n] in written for n in range(4, len(KEY) + 1))
    assert "138" not in written
    assert "zhang" not in written


def test_a_searched_text_without_end_takes_no_time() -> None:
    for text in ("a" * 1_000_000, "1" * 1_000_000, "+1 " * 300_000, "a@" * 500_000, "a.b-" * 250_000):
        Trace(REDACTOR).reminder(text)


def test_the_account_tells_what_happened_in_its_order() -> None:
    trace = Trace(REDACTOR)
    trace.alarm("请处理")
    said = AIMessage("先查", tool_calls=[a_call(date="2026-08-04")], usage_metadata=_usage(7, 3))
    trace.model("a-model", 1, said, repaired(said))
    trace.tool("query_shift", {}, "not_found", "source", '{"status": "not_found"}')
    trace.failure(2, "RateLimitError 429")
    trace.reminder("还没有")
    trace.handover("stopped_early", 2)
    trace.model("runbook", None, AIMessage("按规程"))
    trace.end("settled: WO-1")
    entries = trace.entries()
    kinds = ["alarm", "model", "tool", "failure", "reminder", "handover", "model", "end"]
    assert [entry["kind"] for entry in entries] == kinds
    assert [entry["at"] for entry in entries] == sorted(entry["at"] for entry in entries)
    spoken = {name: value for name, value in entries[1].items() if name not in ("kind", "at")}
    assert spoken == {
        "text": "先查", "turn": 1, "by": "a-model", "call": 1, "input_tokens": 7, "output_tokens": 3,
        "calls": [{"name": "query_shift", "arguments": {"date": "2026-08-04"}}],
    }  # fmt: skip


def test_a_call_that_was_written_badly_stands_there_as_it_was_written_and_as_it_was_taken() -> None:
    broken = invalid_tool_call(name="query_spare_parts", args="{'part': '触摸屏'", id="1", error="")
    said = AIMessage(f"用 {KEY}", invalid_tool_calls=[broken])
    in_text = AIMessage('```json\n{"name": "query_shift", "arguments": {}}\n```')
    trace = Trace(REDACTOR)
    for message in (said, in_text):
        trace.model("a-model", 1, message, repaired(message))
    first, second = trace.entries()
    assert first["repaired"] is second["repaired"] is True
    assert first["written"] == [{"name": "query_spare_parts", "arguments": "{'part': '触摸屏'"}]
    assert first["calls"] == [{"name": "query_spare_parts", "arguments": {"part": "触摸屏"}}]
    assert "written" not in second
    assert second["calls"] == [{"name": "query_shift", "arguments": {}}]
    assert first["text"] == "用 ***"


def test_long_texts_and_arguments_are_cut_with_a_note() -> None:
    trace = Trace()
    trace.model("a-model", 1, AIMessage("长" * 50_000, tool_calls=[a_call(part="x" * 50_000)]))
    [entry] = trace.entries()
    assert len(json.dumps(entry["text"])) <= MAX_TEXT + 2
    assert len(entry["text"]) + entry["cut"] == 50_000
    assert len(entry["calls"][0]["arguments"]) <= MAX_ARGUMENTS


def test_when_it_is_full_the_oldest_tool_results_are_cut_first_and_then_what_was_said() -> None:
    trace = Trace()
    trace.alarm("a" * 5_000)
    for number in range(20):
        trace.model("a-model", number, AIMessage("m" * 1_000))
        trace.tool("query_spare_parts", {"part": "x"}, "success", "source", "t" * 5_000)
    entries = trace.entries()
    tools = [len(entry["text"]) for entry in entries if entry["kind"] == "tool"]
    assert tools[0] == MAX_REST
    assert tools[-1] == 5_000
    assert tools == sorted(tools)
    assert {len(entry["text"]) for entry in entries if entry["kind"] == "model"} == {1_000}
    assert entries[1 + tools.index(5_000) * 2]["kind"] == "model"
    assert all(len(e["text"]) + e.get("cut", 0) == 5_000 for e in entries if e["kind"] == "tool")
    for number in range(100):
        trace.model("a-model", number, AIMessage("m" * 1_000))
    assert len(trace.entries()[0]["text"]) == MAX_REST
    assert trace.entries()[-1]["text"] == "m" * 1_000
    assert size(trace) <= MAX_BYTES


def test_when_there_are_too_many_entries_the_oldest_leave_and_are_counted() -> None:
    trace = Trace()
    for number in range(1_500):
        trace.handover(f"reason {number}", number)
    first, *rest = trace.entries()
    assert first["kind"] == "left_out"
    assert first["entries"] + len(rest) == 1_500
    assert rest[-1]["reason"] == "reason 1499"
    assert size(trace) <= MAX_BYTES


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
long_text = st.builds(lambda text, times: text * times, st.text(max_size=20), st.integers(1, 3_000))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(long_text, st.dictionaries(st.text(max_size=5), anything | long_text, max_size=3)),
        max_size=12,
    )
)
def test_whatever_is_said_it_stays_within_its_bound(turns: list[tuple[str, dict[str, Any]]]) -> None:
    trace = Trace(REDACTOR)
    for text, arguments in turns:
        message = AIMessage(text, tool_calls=[a_call("a" * 500, **{"x": 1} | {"y": arguments})] * 20)
        trace.model("a-model", 1, message, repaired(message))
        trace.tool(text, arguments, "success", "source", text)
        assert size(trace) <= MAX_BYTES


def test_arguments_nested_without_end_do_no_harm() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    trace = Trace(REDACTOR)
    trace.tool("query_shift", {"date": deep}, "success", "source", "")
    shallow: Any = []
    for _ in range(300):
        shallow = [shallow]
    trace.tool("query_shift", {"date": shallow}, "success", "source", "")
    assert size(trace) < 2_000


def _usage(spent: int, said: int) -> Any:
    return {"input_tokens": spent, "output_tokens": said, "total_tokens": spent + said}
