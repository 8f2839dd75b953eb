"""Small local models, as they were seen."""

from collections.abc import Callable
from typing import Any

from tests.helpers.endpoint import (
    Behaviour,
    Conversation,
    Message,
    Reply,
    completion,
    good_calls,
    says,
    written,
)
from tests.helpers.history import complaints_of_messages
from tests.misbehaviour.ways import as_json, found, one_call, speaks, text_as, words, wordy_calls
from tests.misbehaviour.wrong_end import ORDER


def _json_block(name: str, arguments: dict[str, Any]) -> str:
    return f"```json\n{as_json({'name': name, 'arguments': arguments})}\n```"


def _one_call_a_turn(conversation: Conversation) -> Message:
    return says("", one_call(conversation))


def _one_block_a_turn(conversation: Conversation) -> Message:
    return {"role": "assistant", "content": _json_block(*one_call(conversation))}


def _repeats_after(status: str) -> Behaviour:
    """Good until a tool says that; then its last calls again, for ever."""

    def behaves(conversation: Conversation) -> Message:
        if not found(conversation, status):
            return _one_call_a_turn(conversation)
        last = next(m for m in reversed(conversation.messages) if m.get("tool_calls"))
        calls = [written(c["function"]["name"], c["function"]["arguments"]) for c in last["tool_calls"]]
        return speaks(says(""), tool_calls=calls)

    return behaves


def _apologises_at(status: str) -> Behaviour:
    """Good until a tool says that; then an apology, for ever."""

    def behaves(conversation: Conversation) -> Message:
        if found(conversation, status):
            return says("抱歉，没有找到相关数据，无法生成工单。如有其他问题请告诉我。")
        return _one_call_a_turn(conversation)

    return behaves


def _cut_by_the_limit(keep: Callable[[str], str]) -> Behaviour:
    """The last call of each turn is cut off by the token limit."""

    def behaves(conversation: Conversation) -> Reply:
        calls = [
            written(name, as_json(arguments), n)
            for n, (name, arguments) in enumerate(wordy_calls(conversation))
        ]
        calls[-1]["function"]["arguments"] = keep(calls[-1]["function"]["arguments"])
        return Reply.json(completion(speaks(says(None), tool_calls=calls), finish_reason="length"))

    return behaves


def _text_cut_by_the_limit(conversation: Conversation) -> Reply:
    text = text_as(_json_block)(conversation)["content"]  # type: ignore[index]
    return Reply.json(completion({"role": "assistant", "content": text[:-6]}, finish_reason="length"))


def _fussy(conversation: Conversation) -> Message | Reply:
    """A server that answers 500 to a history that is not well-formed, and a model that writes badly."""
    if complaints_of_messages(conversation.messages):
        return Reply.error(500, "Failed to parse tool call arguments as JSON")
    calls = wordy_calls(conversation)
    return speaks(
        says(None), tool_calls=[written(name, as_json(arguments)[:-1]) for name, arguments in calls]
    )


def _no_null_content(conversation: Conversation) -> Message | Reply:
    """A server that answers 500 to `content: null` beside tool calls, and sends just that itself."""
    if any(message.get("content") is None for message in conversation.messages):
        return Reply.error(500, "Value is not callable: null")
    return says(None, *good_calls(conversation))


def _in_english(conversation: Conversation) -> Message:
    order = {
        "diagnosis": "Loose communication cable.",
        "actions": ["Lock out and tag out.", "Check the cable."],
    }
    calls = good_calls(conversation)
    return says(
        "I will look into it.",
        *((name, order if name == "generate_work_order" else arguments) for name, arguments in calls),
    )


def _named(names: dict[str, str]) -> Behaviour:
    return lambda c: says("", *((names.get(name, name), arguments) for name, arguments in good_calls(c)))


def _part_in_english(conversation: Conversation) -> Message:
    """Asks by another name of the same part, and takes the answer for an answer."""
    asked = [arguments.get("part") for _id, _name, arguments in conversation.calls]
    calls = [
        (name, {"part": "touch screen"} if arguments.get("part") == "触摸屏" else arguments)
        for name, arguments in good_calls(conversation)
    ]
    return says("", *([call for call in calls if call[1].get("part", "") not in asked] or [ORDER]))


def _line_shortened(conversation: Conversation) -> Message:
    calls = good_calls(conversation)
    return says("", *((n, {"line": "B线", "date": "今天"} if n == "query_shift" else a) for n, a in calls))


def _falls_silent(conversation: Conversation) -> Message:
    """An empty answer every other time."""
    return says("") if conversation.request % 2 else says("", *good_calls(conversation))


BEHAVIOURS: dict[str, Behaviour] = {
    "a json block, every time": text_as(_json_block),
    "a json block a turn": _one_block_a_turn,
    "a json block with a preface": text_as(
        _json_block, before="Sure! Here is the function call:\n\n", after="\n\nDone."
    ),
    "one call a turn": _one_call_a_turn,
    "the same call after not_found": _repeats_after("not_found"),
    "the same call after success": _repeats_after("success"),
    "the same call after unavailable": _repeats_after("unavailable"),
    "an apology at not_found": _apologises_at("not_found"),
    "an apology at success": _apologises_at("success"),
    "an apology at unavailable": _apologises_at("unavailable"),
    "B线 for the line": _line_shortened,
    "the part's English name": _part_in_english,
    "an answer in English": _in_english,
    "an answer in English, no call": words(
        "Please check the cable between the touch screen and the controller."
    ),
    "cut by the limit before the brace": _cut_by_the_limit(lambda arguments: arguments[:-1]),
    "cut by the limit in the middle": _cut_by_the_limit(lambda arguments: arguments[: len(arguments) // 2]),
    "cut by the limit at the start": _cut_by_the_limit(lambda arguments: ""),
    "text cut by the limit": _text_cut_by_the_limit,
    "500 to a malformed history": _fussy,
    "500 to null content": _no_null_content,
    "tools by Chinese names": _named(
        {"search_manual": "查手册", "query_shift": "查排班", "query_spare_parts": "查备件"}
    ),
    "tools by near names": _named({"search_manual": "search_manuals", "query_shift": "get_shift"}),
    "one letter for ever": words("的" * 100_000),
    "the prompt repeated": lambda c: says(c.messages[0]["content"][:2000]),
    "the tools' schemas repeated": lambda c: says(as_json(c.tools)),
    "silent every other time": _falls_silent,
}

UNAIDED = frozenset(
    {
        "a json block, every time",
        "a json block a turn",
        "a json block with a preface",
        "one call a turn",
        "B线 for the line",
        "an answer in English",
        "cut by the limit before the brace",
        "text cut by the limit",
        "500 to a malformed history",
        "500 to null content",
    }
)
