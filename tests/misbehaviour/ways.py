"""What the misbehaviours are made of: a perfect model's calls, and ways to spoil them."""

import json
from collections.abc import Callable
from typing import Any

from tests.helpers.endpoint import Behaviour, Calls, Conversation, Message, Reply, good_calls, says

Write = Callable[[str, dict[str, Any]], Any]
"""A call, by tool and arguments, as it stands in a message's `tool_calls`."""


def wordy_calls(conversation: Conversation) -> Calls:
    """A perfect model's calls with every argument that a tool offers, as most models write them."""
    alarm = conversation.alarm
    own: dict[str, dict[str, Any]] = {
        "search_manual": {"fault_code": alarm["fault_code"], "symptom": alarm["message"]},
        "query_shift": {"line": alarm["line_name"], "date": alarm["occurred_at"][:10]},
    }
    return [(name, own.get(name, arguments)) for name, arguments in good_calls(conversation)]


def one_call(conversation: Conversation) -> tuple[str, dict[str, Any]]:
    """The next step of a model that takes one a turn: slow and right."""
    asked = {name for _id, name, _arguments in conversation.calls}
    if "search_manual" in asked and "query_shift" not in asked:
        return "query_shift", {"line": conversation.alarm["line_name"]}
    return wordy_calls(conversation)[0]


def speaks(message: Message, **fields: Any) -> Message:
    return message | fields


def always(content: str | None, *calls: tuple[str, dict[str, Any]]) -> Behaviour:
    """The same answer for ever."""
    return lambda _conversation: says(content, *calls)


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """One after the other, from the first again after the last."""
    return lambda conversation: behaviours[conversation.turn % len(behaviours)](conversation)


def first(*behaviours: Behaviour) -> Behaviour:
    """One after the other by request, and the last for ever."""
    return lambda conversation: behaviours[min(conversation.request, len(behaviours)) - 1](conversation)


def writes(write: Write) -> Behaviour:
    """A perfect model but for the way in which it writes each call."""

    def behaves(conversation: Conversation) -> Message:
        calls = [write(name, arguments) for name, arguments in wordy_calls(conversation)]
        for n, call in enumerate(calls):
            if isinstance(call, dict):
                call.setdefault("id", f"call_{n}")
        return speaks(says(""), tool_calls=calls)

    return behaves


def arguments_as(spoil: Callable[[dict[str, Any]], Any]) -> Behaviour:
    """A perfect model but for the way in which it writes the arguments of each call."""
    return writes(
        lambda name, arguments: {
            "type": "function",
            "function": {"name": name, "arguments": spoil(arguments)},
        }
    )


def text_as(
    write: Callable[[str, dict[str, Any]], str], before: str = "", between: str = "\n", after: str = ""
) -> Behaviour:
    """A perfect model that writes each call into its text."""

    def behaves(conversation: Conversation) -> Message:
        calls = [write(name, arguments) for name, arguments in wordy_calls(conversation)]
        return {"role": "assistant", "content": before + between.join(calls) + after}

    return behaves


def words(text: str) -> Behaviour:
    """Text alone, for ever."""
    return lambda _conversation: {"role": "assistant", "content": text}


def bad_reply(reply: Reply) -> Behaviour:
    return lambda _conversation: reply


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def found(conversation: Conversation, status: str) -> bool:
    """Whether some tool has answered with that status."""
    return any(
        json.loads(message["content"])["status"] == status
        for message in conversation.messages
        if message["role"] == "tool"
    )
