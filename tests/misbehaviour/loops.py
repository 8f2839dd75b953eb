"""Loops: a model that asks again and again, in every way that it can find."""

from typing import Any

from tests.helpers.endpoint import Behaviour, Conversation, Message, good_calls, says, walks_the_calendar
from tests.misbehaviour.ways import always, as_json, in_turn, words

_SPELLINGS = ("触摸屏", " 触摸屏 ", "触 摸 屏", "触摸屏。", "【触摸屏】", "「触摸屏」", "触-摸-屏", "触摸屏 ")
_CODES = ("E401", "e401", "E-401", "Ｅ４０１", "Err 401", "E401.0", "E402", "0401")


def _walks_the_lines(conversation: Conversation) -> Message:
    return says("", ("query_shift", {"line": f"交互屏组装{chr(65 + conversation.turn)}线"}))


def _walks_the_codes(conversation: Conversation) -> Message:
    return says("", ("search_manual", {"fault_code": _CODES[conversation.turn % len(_CODES)]}))


def _rewords_the_symptom(conversation: Conversation) -> Message:
    return says("", ("search_manual", {"symptom": "触摸屏无响应" + "！" * conversation.turn}))


def _respells_the_part(conversation: Conversation) -> Message:
    part = _SPELLINGS[conversation.turn % len(_SPELLINGS)]
    return says("", ("query_spare_parts", {"part": part}))


def _respells_then_goes_on(conversation: Conversation) -> Message:
    """The part in another spelling before anything else, and then the right way to the end."""
    if conversation.turn == 0:
        return says("", ("query_spare_parts", {"part": " 触-摸-屏 "}))
    return says("", *good_calls(conversation))


def _invents_a_part_a_turn(conversation: Conversation) -> Message:
    return says("", ("query_spare_parts", {"part": f"虚构件{conversation.turn}"}))


def _invents_parts_without_end(conversation: Conversation) -> Message:
    parts = [f"虚构件{conversation.turn}-{n}" for n in range(20)]
    return says("", *(("query_spare_parts", {"part": part}) for part in parts))


def _a_hundred_kinds(conversation: Conversation) -> Message:
    tools: list[tuple[str, dict[str, Any]]] = [
        ("query_shift", {"date": "2026-08-05"}),
        ("search_manual", {}),
        ("query_spare_parts", {"part": "触摸屏"}),
        ("generate_work_order", {}),
    ]
    return says("", *(tools[n % 4] for n in range(100)))


def _takes_the_suggestion_for_a_call(conversation: Conversation) -> Message:
    """Calls what the last tool's own words named, with those words as its argument."""
    last = conversation.messages[-1]["content"] if conversation.turn else "开始"
    return says(last, ("query_spare_parts", {"part": last[:300]}), (last[:60], {"part": last}))


def _asks_for_the_answer_again(conversation: Conversation) -> Message:
    """Sends each result back as the next question."""
    last = conversation.messages[-1]["content"]
    return says("", ("search_manual", {"symptom": last}), ("query_shift", {"line": last}))


def _orders_again_and_again(conversation: Conversation) -> Message:
    """Everything is asked, and the order is called without a word in it, for ever."""
    calls = good_calls(conversation)
    if calls[0][0] == "generate_work_order":
        return says("", ("generate_work_order", {"diagnosis": "", "actions": []}))
    return says("", *calls)


def _news_by_the_spoonful(conversation: Conversation) -> Message:
    """One new fact every second turn, so that it is never quite stuck."""
    steps = ["search_manual", "query_shift"]
    if conversation.turn % 2 or conversation.turn >= 4:
        return says("", ("query_spare_parts", {"part": f"虚构件{conversation.turn}"}))
    return says("", (steps[conversation.turn // 2], {}))


def _echoes(conversation: Conversation) -> Message:
    """Repeats the whole conversation as its own words."""
    return says(as_json(conversation.messages), ("query_shift", {}))


BEHAVIOURS: dict[str, Behaviour] = {
    "the calendar walked": walks_the_calendar,
    "the lines walked": _walks_the_lines,
    "the codes walked": _walks_the_codes,
    "a symptom reworded": _rewords_the_symptom,
    "a part respelled": _respells_the_part,
    "a part respelled, then on": _respells_then_goes_on,
    "the manual for ever": always("", ("search_manual", {})),
    "the shift for ever": always("", ("query_shift", {})),
    "the part for ever": always("", ("query_spare_parts", {"part": "触摸屏"})),
    "two tools in turn": in_turn(always("", ("search_manual", {})), always("", ("query_shift", {}))),
    "three tools in turn": in_turn(
        always("", ("query_spare_parts", {"part": "触摸屏"})),
        always("", ("generate_work_order", {"diagnosis": "坏了", "actions": ["修"]})),
        always("", ("query_shift", {"date": "2026-08-05"})),
    ),
    "talk and a call in turn": in_turn(words("我这就去查。"), always("", ("query_shift", {}))),
    "a hundred calls of one kind": always("", *[("query_shift", {"date": "2026-08-05"})] * 100),
    "a hundred calls of four kinds": _a_hundred_kinds,
    "a hundred parts in one turn": always(
        "", *(("query_spare_parts", {"part": f"虚构件{n}"}) for n in range(100))
    ),
    "a part invented a turn": _invents_a_part_a_turn,
    "parts invented without end": _invents_parts_without_end,
    "the guard's words as a call": _takes_the_suggestion_for_a_call,
    "the answer as the next question": _asks_for_the_answer_again,
    "a blank order for ever": _orders_again_and_again,
    "news by the spoonful": _news_by_the_spoonful,
    "the conversation echoed": _echoes,
    "promises for ever": words("好的，我马上调用 query_shift 查询排班，请稍候。"),
    "a tool of its own for ever": always("", ("query_roster_v2", {"date": "2026-08-05"})),
}

UNAIDED = frozenset({"a part respelled, then on"})
"""Those that a model is let finish itself."""
