"""The formats in which models write calls into their text, beyond JSON; JSON's are in test_repair_text."""

import time

import pytest
from langchain_core.messages import AIMessage

from tests.helpers.written_calls import meant, native
from worker.agent.repair import repaired, was_mended
from worker.agent.written import calls_in, tool_name

SCREEN = ("query_spare_parts", {"part": "触摸屏"})
ORDER = ("generate_work_order", {"diagnosis": "排线松动", "actions": ["上锁挂牌", "检查排线"]})


@pytest.mark.parametrize(
    "content",
    [
        "<function=query_spare_parts>\n<parameter=part>\n触摸屏\n</parameter>\n</function>",
        "<tool_call><function=query_spare_parts><parameter=part>触摸屏</parameter></function></tool_call>",
        '<function=query_spare_parts>{"part": "触摸屏"}</function>',
        "<function=query_spare_parts><parameter=part>触摸屏",
        "<tool_call>query_spare_parts\n<arg_key>part</arg_key>\n<arg_value>触摸屏</arg_value>\n</tool_call>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>query_spare_parts\n"
        '```json\n{"part": "触摸屏"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        '<｜tool▁call▁begin｜>query_spare_parts<｜tool▁sep｜>{"part": "触摸屏"}<｜tool▁call▁end｜>',
        'query_spare_parts(part="触摸屏")',
        "query_spare_parts('触摸屏')",
        '```tool_code\nprint(default_api.query_spare_parts(part="触摸屏"))\n```',
        "[query_spare_parts(part='触摸屏')]",
        "<think>query_shift()\n</think>\nquery_spare_parts(part='触摸屏')",
    ],
)
def test_a_call_in_another_format_is_a_call(content: str) -> None:
    assert meant(AIMessage(content)) == [SCREEN]


@pytest.mark.parametrize(
    "content",
    [
        "<function=generate_work_order><parameter=diagnosis>排线松动</parameter>"
        '<parameter=actions>["上锁挂牌", "检查排线"]</parameter></function>',
        "<tool_call>generate_work_order<arg_key>diagnosis</arg_key><arg_value>排线松动</arg_value>"
        "<arg_key>actions</arg_key><arg_value>上锁挂牌\n检查排线</arg_value></tool_call>",
        "generate_work_order(diagnosis='排线松动', actions=['上锁挂牌', '检查排线'])",
        '{"name": "generate_work_order", "arguments": {"诊断": "排线松动",'
        ' "处理步骤": ["上锁挂牌", "检查排线"]}}',
        '{"name": "generate_work_order", "parameters": {"properties": {"Diagnosis": "排线松动",'
        ' "Actions": ["上锁挂牌", "检查排线"]}}}',
    ],
)
def test_an_order_in_another_format_is_an_order(content: str) -> None:
    assert meant(AIMessage(content)) == [ORDER]


@pytest.mark.parametrize(
    "content",
    [
        "<tool_call>search_manual</tool_call><tool_call>query_shift</tool_call>",
        "<function=search_manual></function>\n<function=query_shift>{}</function>",
        "search_manual()\nquery_shift()",
        "[search_manual(), query_shift(line='A线)')]",
    ],
)
def test_all_calls_are_taken_in_their_order(content: str) -> None:
    assert [name for name, _arguments in meant(AIMessage(content))] == ["search_manual", "query_shift"]


@pytest.mark.parametrize(
    "content",
    [
        "我会调用 query_shift() 查询排班。",
        "1. search_manual\n2. query_shift",
        "query_spare_parts(part)",
        "query_spare_parts(part=触摸屏",
        "query_spare_parts(part=open('x'))",
        "def search_manual():\n    pass",
        "<function=order_pizza></function>",
        "<tool_call>order_pizza</tool_call>",
    ],
)
def test_what_only_speaks_of_a_tool_is_no_call(content: str) -> None:
    assert calls_in(content) == []


@pytest.mark.parametrize(
    "content",
    [
        "<function=" * 1_000,
        "<function=x>" * 800,
        "<function=x><parameter=y>" * 400,
        "<tool_call>x<arg_key>" * 400,
        "<｜tool▁call▁begin｜>" * 500,
        "<｜tool▁call▁begin｜>x" + " " * 9_000,
        "search_manual(" * 700,
        "\nsearch_manual(" * 650,
        "search_manual(" + "[" * 9_000,
        "search_manual('" + "\\" * 9_000,
        "search_manual(" + "a=" * 4_000 + ")",
        "search_manual(-" + "-" * 9_000 + "1)",
        "[" * 9_000 + "search_manual()",
    ],
    ids=lambda content: content[:20],
)
def test_no_text_keeps_the_event_loop_busy(content: str) -> None:
    begun = time.process_time()
    calls_in(content)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("written", ["functions.query_shift", "QueryShift", "query-shift", " query_shift() "])
def test_a_tool_is_known_however_its_name_is_written(written: str) -> None:
    assert tool_name(written) == "query_shift"


def mended(message: AIMessage) -> bool:
    [call] = repaired(message).tool_calls
    return was_mended(call["id"])


def test_a_call_that_was_mended_says_so_by_its_id() -> None:
    assert not mended(AIMessage("", tool_calls=[native("query_spare_parts", {"part": "触摸屏"})]))
    assert not mended(AIMessage("", tool_calls=[native("query_shift", {"date": "2026-08-04"})]))
    assert mended(AIMessage("", tool_calls=[native("query_spare_parts", {"input": '{"part": "触摸屏"}'})]))
    assert mended(AIMessage("", tool_calls=[native("functions.query_shift", {})]))
    assert mended(AIMessage('{"name": "query_shift"}'))
    assert not was_mended(None)
    assert not was_mended("runbook-1")


def test_the_history_shows_how_a_mended_call_should_have_been_written() -> None:
    order = {"input": {"diagnosis": "松动", "actions": "检查\n拧紧"}}
    [call] = repaired(AIMessage("", tool_calls=[native("generate_work_order", order)])).tool_calls
    assert call["args"] == {"diagnosis": "松动", "actions": ["检查", "拧紧"]}
    [call] = repaired(
        AIMessage("", tool_calls=[native("query_shift", {"input": {"line": "B线"}})])
    ).tool_calls
    assert call["args"] == {"line": "B线"}
