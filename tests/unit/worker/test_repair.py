"""Tool calls written badly: what was meant is done where it is plain, and the history stays well-formed."""

import json
import re
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call

from db.models.order import StepName
from tests.helpers.written_calls import meant, native, unread
from worker.agent.loose import MAX_MENDED, parsed
from worker.agent.repair import MAX_CALLS_A_TURN, MAX_GIVEN, arguments_for, repaired, shortened
from worker.agent.written import calls_in

PARTS, ORDER = StepName.QUERY_SPARE_PARTS, StepName.GENERATE_WORK_ORDER
SCREEN = {"part": "触摸屏"}
MEGABYTE = "长" * 1_000_000


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param('{part: "触摸屏"}', id="unquoted keys"),
        pytest.param("{part: 触摸屏}", id="nothing quoted"),
        pytest.param("{'part': '触摸屏'}", id="single quotes"),
        pytest.param("{“part”: “触摸屏”}", id="typographic quotes"),
        pytest.param('{"part": "触摸屏",}', id="a trailing comma"),
        pytest.param('{"part": "触摸屏"', id="cut off before the brace"),
        pytest.param('{"part": "触摸屏', id="cut off in the string"),
        pytest.param('{"part": "触摸屏"}}', id="a brace too many"),
        pytest.param('{"part": "触摸屏"} 请查询', id="talk after it"),
        pytest.param('好的：{"part": "触摸屏"}', id="talk before it"),
        pytest.param('```json\n{"part": "触摸屏"}\n```', id="fenced"),
        pytest.param("```\n{'part': '触摸屏'}\n```", id="fenced and single quotes"),
        pytest.param('"{\\"part\\": \\"触摸屏\\"}"', id="a JSON string in JSON"),
        pytest.param(json.dumps(json.dumps(json.dumps(SCREEN))), id="a JSON string in a JSON string"),
        pytest.param('{"input": "{\\"part\\": \\"触摸屏\\"}"}', id="JSON under input"),
        pytest.param('{"input": {"part": "触摸屏"}}', id="an object under input"),
        pytest.param('{"input": "触摸屏"}', id="a name under input"),
        pytest.param('{"arguments": {"input": {"part": "触摸屏"}}}', id="wrapped twice"),
        pytest.param('{"name": "query_spare_parts", "arguments": {"part": "触摸屏"}}', id="a call in a call"),
        pytest.param('"触摸屏"', id="a JSON string"),
        pytest.param("触摸屏", id="a bare string"),
        pytest.param(" 触摸屏\n", id="a bare string with space"),
        pytest.param('["触摸屏"]', id="an array"),
        pytest.param('[{"part": "触摸屏"}]', id="an array of objects"),
        pytest.param('{"part": ["触摸屏"]}', id="a list for a string"),
        pytest.param('{"part": {"name": "触摸屏"}}', id="an object for a string"),
        pytest.param('{"parts": ["触摸屏"]}', id="the name's plural"),
        pytest.param('{"part_name": "触摸屏", "line": "A线", "quantity": 2}', id="extra fields after it"),
        pytest.param('{"line": "A线", "quantity": "2", "part": "触摸屏"}', id="extra fields before it"),
        pytest.param('{"Part": "触摸屏"}', id="a capital"),
        pytest.param('{"零件": "触摸屏"}', id="a Chinese key"),
        pytest.param('{"part": "触摸屏", "part": "触摸屏"}', id="a key twice"),
    ],
)
def test_a_part_that_was_plainly_meant_is_asked_for(arguments: str) -> None:
    assert meant(unread(arguments)) == [("query_spare_parts", SCREEN)]


@pytest.mark.parametrize(
    "arguments", [None, "", "null", "None", '""', "{}", "[]", "  ", "}", "{", "null\n", "\x00"]
)
def test_no_arguments_in_any_writing_name_no_part(arguments: str | None) -> None:
    [(_, own)] = meant(unread(arguments))
    assert own["part"].strip("�}{") == ""


@pytest.mark.parametrize("arguments", [None, "null", "", "[1, 2]", "触摸屏", "{", '{"date": "2026-08-', "\\"])
@pytest.mark.parametrize("step", ["search_manual", "query_shift"])
def test_the_manual_and_the_shift_need_no_arguments_whatever_was_written(
    step: str, arguments: str | None
) -> None:
    assert meant(unread(arguments, step)) == [(step, {})]


@pytest.mark.parametrize(
    "actions",
    [
        '["上锁挂牌", "检查排线"]',
        "['上锁挂牌', '检查排线',]",
        '"上锁挂牌\\n检查排线"',
        '"上锁挂牌；检查排线"',
        '"上锁挂牌;\\r\\n检查排线\\n"',
        '"[\\"上锁挂牌\\", \\"检查排线\\"]"',
        "\"['上锁挂牌', '检查排线']\"",
        '{"1": "上锁挂牌", "2": "检查排线"}',
        '[{"action": "上锁挂牌"}, {"action": "检查排线"}]',
        '[["上锁挂牌"], "检查排线", "", null, " "]',
    ],
)
def test_actions_in_any_shape_are_a_list_of_strings(actions: str) -> None:
    arguments = f'{{"diagnosis": "排线松动", "actions": {actions}}}'
    expected = {"diagnosis": "排线松动", "actions": ["上锁挂牌", "检查排线"]}
    assert meant(unread(arguments, "generate_work_order")) == [("generate_work_order", expected)]


def test_wrong_types_become_text() -> None:
    own = arguments_for(ORDER, {"diagnosis": ["一", {"二": 3}], "actions": [1, True, None, 2.5]})
    assert own == {"diagnosis": "一 3", "actions": ["1", "true", "2.5"]}
    assert arguments_for(PARTS, {"part": 1001}) == {"part": "1001"}


def test_an_order_cut_off_by_the_token_limit_keeps_what_was_said() -> None:
    cut = '{"diagnosis": "排线松动，触摸屏失灵", "actions": ["上锁挂牌", "检查排'
    [(_, own)] = meant(unread(cut, "generate_work_order"))
    assert own == {"diagnosis": "排线松动，触摸屏失灵", "actions": ["上锁挂牌", "检查排"]}


def test_arguments_a_megabyte_long_are_cut_and_not_sent_back() -> None:
    order = {"diagnosis": MEGABYTE, "actions": [MEGABYTE] * 3}
    kept = repaired(AIMessage("", tool_calls=[native(ORDER, order)]))
    assert len(json.dumps(kept.tool_calls[0]["args"], ensure_ascii=False)) < MAX_MENDED
    own = arguments_for(ORDER, kept.tool_calls[0]["args"])
    assert own["diagnosis"].startswith("长" * 1000)
    assert len(own["actions"]) == 3
    unknown = repaired(AIMessage("", tool_calls=[native("x", order)]))
    assert unknown.tool_calls[0]["args"] == {}
    [call] = repaired(unread(f'{{"part": "{MEGABYTE}')).tool_calls
    assert len(json.dumps(call["args"])) < MAX_MENDED


@pytest.mark.parametrize(
    "name",
    ["functions.search_manual", "search-manual", "SearchManual", " search_manual ", "tools/search_manual",
     "search_manual()", "SEARCH_MANUAL", "default_api:search_manual", "search manual"],
)  # fmt: skip
def test_a_tool_is_known_by_the_ways_its_name_is_written(name: str) -> None:
    assert [call["name"] for call in repaired(unread("{}", name)).tool_calls] == ["search_manual"]


@pytest.mark.parametrize(
    "name", ["order_pizza", "查手册", "", None, "search_manuals", "a b\n{}", "x" * 500, "\ud800"]
)
def test_a_tool_that_does_not_exist_keeps_a_name_that_an_endpoint_takes_back(name: str | None) -> None:
    [call] = repaired(unread("{}", name)).tool_calls
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call["name"])
    assert call["name"] not in set(StepName)


def test_of_a_hundred_calls_in_one_turn_the_first_eight_are_taken_up() -> None:
    calls = [native(PARTS, {"part": str(n)}) for n in range(100)]
    bad = [invalid_tool_call(name="query_shift", args="{", id="0", error="") for _ in range(100)]
    parts = [own["part"] for _name, own in meant(AIMessage("", tool_calls=calls, invalid_tool_calls=bad))]
    assert parts == [str(n) for n in range(MAX_CALLS_A_TURN)]
    assert len(repaired(AIMessage("", invalid_tool_calls=bad)).tool_calls) == MAX_CALLS_A_TURN
    text = '<tool_call>{"name": "query_shift"}</tool_call>' * 100
    assert len(repaired(AIMessage(text)).tool_calls) == MAX_CALLS_A_TURN


def test_a_broken_call_leaves_nothing_broken_in_the_history() -> None:
    message = repaired(unread('{"part": "触'))
    assert message.invalid_tool_calls == []
    assert message.additional_kwargs == {}
    assert len(message.tool_calls) == 1


def test_ids_that_repeat_are_replaced() -> None:
    calls = [native("query_shift", {}) for _ in range(3)]
    ids = [call["id"] for _ in range(2) for call in repaired(AIMessage("", tool_calls=calls)).tool_calls]
    assert len(set(ids)) == 6
    assert "call_0" not in ids


def test_the_tokens_stay_counted() -> None:
    usage: Any = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    assert repaired(AIMessage("x", usage_metadata=usage)).usage_metadata == usage


def test_content_in_blocks_is_read_as_its_text() -> None:
    message = AIMessage([{"type": "text", "text": '{"name": "query_'}, {"type": "text", "text": 'shift"}'}])
    assert meant(message) == [("query_shift", {})]


@pytest.mark.parametrize(
    "content",
    [
        "{" * MAX_MENDED,
        "[" * MAX_MENDED,
        "[{" * 5_000,
        '{"a":' * 5_000,
        "{ " * 50_000,
        "\n" * 200_000,
        " " * 200_000,
        "Action: x\n" + "\n" * 200_000,
        "Action: " + "x" * 200_000,
        "Action: a\nAction Input: " + "\n" * 200_000,
        "\nAction: a\nAction Input: {" * 10_000,
        "```" * 100_000,
        "```{" * 30_000,
        "<think>" * 50_000,
        "</think>" * 50_000,
        "<tool_call>" * 50_000,
        "<tool_call>{" * 30_000,
        '{"name":' * 20_000,
        '{"name": "' + "[" * 90 + "\\" * 9_000,
        '{"name": ' * 99 + '"' * 999,
        '"' * MAX_MENDED,
        "'" * MAX_MENDED,
        "/*" * 5_000,
        "//" * 5_000,
        "{" * 99 + ":" * 9_000,
        "{'" * 99 + '"a":\'' * 1_900,
        "[" * 99 + '"a" "' * 1_900,
    ],
    ids=lambda content: content[:12],
)
def test_no_text_keeps_the_event_loop_busy(content: str) -> None:
    """One loop serves every alarm of a worker: what one model writes may not stop the others."""
    begun = time.process_time()
    calls_in(content)
    parsed(content)
    repaired(AIMessage(content))
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    "arguments", ['{"a": NaN}', '{"a": [Infinity, -Infinity, 1e999]}', '{"a": 1' + "0" * 400 + "}"]
)
def test_numbers_that_no_other_json_reader_takes_are_left_out(arguments: str) -> None:
    for message in (unread(arguments), AIMessage("", tool_calls=[native(PARTS, json.loads(arguments))])):
        args = repaired(message).tool_calls[0]["args"]
        assert json.loads(json.dumps(args), parse_constant=pytest.fail) == args


def test_nesting_beyond_any_argument_is_cut() -> None:
    deep: Any = "触摸屏"
    for _ in range(900):
        deep = {"a": [deep]}
    [call] = repaired(AIMessage("", tool_calls=[native(PARTS, {"deep": deep, "part": "触摸屏"})])).tool_calls
    assert json.dumps(call["args"]).count("{") < 30
    assert arguments_for(PARTS, {"deep": deep, "part": "触摸屏"}) == SCREEN


def test_arguments_too_long_for_the_account_are_cut_there() -> None:
    assert shortened({"part": "触摸屏"}) == {"part": "触摸屏"}
    kept = shortened({"part": "长" * 10_000})
    assert len(json.dumps(kept, ensure_ascii=False)) < MAX_GIVEN + 100
