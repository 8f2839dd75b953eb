"""Tool calls written as text: taken from wherever a model puts them, but not from its thoughts."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from tests.helpers.written_calls import meant, native
from worker.agent.repair import repaired

SCREEN = {"part": "触摸屏"}
CALL = '{"name": "query_spare_parts", "arguments": {"part": "触摸屏"}}'
QUOTED = json.dumps(json.dumps(SCREEN, ensure_ascii=False), ensure_ascii=False)
QUOTED_CALL = f'<tool_call>{{"name": "query_spare_parts", "arguments": {QUOTED}}}</tool_call>'


def written(content: str) -> list[tuple[str, dict[str, Any]]]:
    return meant(AIMessage(content))


WRITINGS = {
    "fenced": f"```json\n{CALL}\n```",
    "fenced, never closed": f"```\n{CALL}",
    "fenced, with talk around": f"我来查。\n```JSON\n{CALL}\n```\n请稍候。",
    "fenced, other keys": '```json\n{"tool": "query_spare_parts", "args": {"part": "触摸屏"}}\n```',
    "tagged": f"<tool_call>\n{CALL}\n</tool_call>",
    "tagged and cut off": f"<tool_call>{CALL[:-3]}",
    "tagged, arguments as a string": QUOTED_CALL,
    "tagged, single quotes": f"<tool_call>{CALL.replace(chr(34), chr(39))}</tool_call>",
    "ReAct": 'Action: query_spare_parts\nAction Input: {"part": "触摸屏"}',
    "ReAct, a bare input": "Thought: 查\nAction: query_spare_parts\nAction Input: 触摸屏\nObservation: 有",
    "ReAct, fullwidth": 'Action：query_spare_parts()\n\nAction Input：{\n "part": "触摸屏"\n}\n',
    "bare": CALL,
    "bare, parameters": CALL.replace("arguments", "parameters"),
    "bare, the name last": '{"arguments": {"part": "触摸屏"}, "name": "query_spare_parts"}',
    "bare, in a list": f"[{CALL}]",
    "bare, in talk": f"接下来 {CALL} 。",
    "bare, in talk, unquoted": "接下来 {name: query_spare_parts, arguments: {part: 触摸屏}}",
    "the wire format": f'{{"tool_calls": [{{"function": {CALL}}}]}}',
    "a typed function": f'{{"type": "function", "function": {CALL}}}',
    "Mistral": f"[TOOL_CALLS][{CALL}]",
    "Llama": f"<|python_tag|>{CALL}",
    "structured chat": '{"action": "query_spare_parts", "action_input": "触摸屏"}',
    "with a name space": CALL.replace("query_", "functions.query_"),
}
THOUGHTS = {
    "": "",
    "after thoughts": "<think>先查手册？不，先查备件。</think>\n\n",
    "after a call in the thoughts": '<think>{"name": "search_manual", "arguments": {}}</think>',
    "after thoughts without a beginning": '我想想 ```json\n{"name": "search_manual"}\n```</think>',
    "after long thoughts": f"<think>{'嗯。' * 20_000}</think>",
}


@pytest.mark.parametrize("thoughts", THOUGHTS)
@pytest.mark.parametrize("writing", WRITINGS)
def test_a_call_written_as_text_is_a_call_and_one_in_the_thoughts_is_not(writing: str, thoughts: str) -> None:
    assert written(THOUGHTS[thoughts] + WRITINGS[writing]) == [("query_spare_parts", SCREEN)]


@pytest.mark.parametrize(
    "content",
    [
        "工单已经生成。",
        "对不起，没有找到排班数据。",
        '<think>{"name": "search_manual", "arguments": {}}',
        '<think>```json\n{"name": "search_manual"}\n```',
        '{"status": "success", "order_id": "WO-20260804-0001"}',
        '```json\n{"diagnosis": "排线松动", "actions": ["检查"]}\n```',
        '{"name": "order_pizza", "arguments": {}}',
        '{"name": 5, "arguments": {}}',
        "Action: order_pizza\nAction Input: {}",
        "Action: search_manual",
        "调用 search_manual 查询手册",
        "```",
        "<tool_call></tool_call>",
        "[1, 2]",
        "null",
    ],
)
def test_a_text_that_calls_no_tool_stays_a_text(content: str) -> None:
    message = repaired(AIMessage(content))
    assert message.tool_calls == []
    assert message.content == content


@pytest.mark.parametrize("content", ["", " ", "\n\n"])
def test_no_message_without_a_word_stands_in_the_history(content: str) -> None:
    """There are servers that do not take one back."""
    message = repaired(AIMessage(content))
    assert message.tool_calls == []
    assert message.text.strip()


@pytest.mark.parametrize(
    "content",
    [
        '<tool_call>{"name": "search_manual"}</tool_call>\n<tool_call>{"name": "query_shift"}</tool_call>',
        '```json\n{"name": "search_manual"}\n```\n然后\n```json\n{"name": "query_shift"}\n```',
        '```json\n[{"name": "search_manual"}, {"name": "query_shift"}]\n```',
        '```json\n{"name": "search_manual"}\n{"name": "query_shift"}\n```',
        '先 {"name": "search_manual"}，再 {"name": "query_shift"}。',
        "Action: search_manual\nAction Input: {}\nAction: query_shift\nAction Input: {}",
        "Action: search_manual\nAction Input: E401\nObservation: 编造\n"
        "Thought: 好\nAction: query_shift\nAction Input:",
    ],
)
def test_all_the_calls_of_a_text_are_taken_in_their_order(content: str) -> None:
    assert written(content) == [("search_manual", {}), ("query_shift", {})]


def test_with_native_calls_the_text_is_only_a_text() -> None:
    message = AIMessage('{"name": "search_manual"}', tool_calls=[native("query_shift", {})])
    assert meant(message) == [("query_shift", {})]


def test_content_in_blocks_is_read_as_its_text() -> None:
    blocks: list[str | dict[Any, Any]] = [
        {"type": "text", "text": '{"name": "query_'},
        {"type": "text", "text": 'shift"}'},
    ]
    assert meant(AIMessage(blocks)) == [("query_shift", {})]
