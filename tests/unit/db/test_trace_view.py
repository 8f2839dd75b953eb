"""The account of a run in terminals of several widths, whatever stands in it."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import tool_call
from rich.cells import cell_len

from db.views.trace import trace_lines
from tests.unit.db.test_tables import NOW, SHANGHAI, WIDTHS, printed
from tools.trace import Trace

LONG = "检查触摸屏背面的通讯线和接头，测量电源是否为 24V。" * 20
TRICKY = "\x1b[31m红\u202e\x00\r\n[bold]x[/bold]"


def an_account(entries: list[dict[str, Any]] | None, **run: Any) -> dict[str, Any]:
    facts = {
        "attempt": 1, "owner": "host:1", "started_at": NOW, "ended_at": NOW + timedelta(seconds=3),
        "outcome": "settled", "planner": "a-model", "handover_reason": None, "model_calls": 3,
        "input_tokens": 12_345, "output_tokens": 67, "error": None, "trace": entries,
    }  # fmt: skip
    return {
        "order_id": "WO-20260805-0001", "event_id": "evt-1", "source": "边缘盒", "line_name": "交互屏组装A线",
        "equipment": "交互屏贴合机A1", "fault_code": "E401", "native_code": "Err 401",
        "alarm_status": "settled", "runs": [facts | run],
    }  # fmt: skip


def a_trace(text: str) -> Trace:
    """One entry of each kind and of each sort of answer."""
    trace = Trace()
    trace.alarm(text)
    call = tool_call(name="query_spare_parts", args={"part": text}, id="1")
    trace.model("a-model", 1, AIMessage(text, tool_calls=[call]))
    trace.model("a-model", 2, AIMessage(text), AIMessage("", tool_calls=[call]))
    for by, status in zip(
        ("source", "ledger", "refusal", "settlement"), ("success", "error", "invalid", text), strict=True
    ):
        trace.tool("query_spare_parts", {"part": text}, status, by, text)
        trace.tool("query_shift", {}, status, by, f'{{"status": "x", "message": "{text}", "n": [1]}}')
    trace.failure(3, "APITimeoutError")
    trace.reminder(text)
    trace.handover("no_new_facts", 3)
    trace.model("runbook", None, AIMessage(text))
    trace.end("settled: WO-20260805-0001")
    return trace


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("text", [LONG, TRICKY, "x" * 3_000, ""])
def test_no_line_is_wider_than_the_terminal_and_nothing_plays_tricks(width: int, text: str) -> None:
    lines = printed(trace_lines(an_account(a_trace(text).entries()), SHANGHAI), width)
    assert max(map(cell_len, lines)) <= width
    assert not set("\x1b\u202e\x00\r") & set("".join(lines))


def test_every_word_of_a_chinese_sentence_is_there_and_lines_are_filled() -> None:
    lines = printed(trace_lines(an_account(a_trace(LONG).entries()), SHANGHAI), 80)
    assert "".join(line.strip() for line in lines).replace(" ", "").count(LONG.replace(" ", "")) >= 4
    full = [line for line in lines if "通讯线" in line]
    assert sum(cell_len(line.rstrip()) > 70 for line in full) > len(full) * 0.8


def test_turns_are_counted_and_cuts_are_told() -> None:
    trace = a_trace("字")
    trace.model("runbook", None, AIMessage("长" * 9_000))
    shown = " ".join(" ".join(printed(trace_lines(an_account(trace.entries()), SHANGHAI), 120)).split())
    assert all(f"turn {n}" in shown for n in (1, 2, 3, 4))
    assert "7,667 more characters were cut" in shown
    assert "3 model calls, 12,345 tokens in, 67 out" in shown
    assert "a-model model call 1" in shown


def test_entries_that_are_left_out_and_kinds_of_a_later_version_are_shown() -> None:
    entries = [{"kind": "left_out", "entries": 12}, {"kind": "something new", "at": 1.0, "x": "字"}]
    shown = " ".join(" ".join(printed(trace_lines(an_account(entries), SHANGHAI), 120)).split())
    assert "12 entries are left out" in shown
    assert "something new" in shown


@settings(max_examples=50, deadline=None)
@given(st.text(), st.text())
def test_no_text_makes_it_fail(text: str, result: str) -> None:
    trace = a_trace(text)
    trace.tool(text, {text: result}, result, "source", result)
    printed(trace_lines(an_account(trace.entries(), error=text or None), SHANGHAI), 80)
