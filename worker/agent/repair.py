"""Tool calls that a weak model wrote badly, made well, so that the conversation stays well-formed."""

import json
import re
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall, tool_call

from db.models.order import StepName
from worker.agent.loose import MAX_MENDED, clean, cleaned, loaded, parsed
from worker.agent.written import ARGUMENT_NAMES, TOOL_NAMES, calls_in, tool_name

MAX_CALLS_A_TURN = 8
MAX_CONTENT = 8_000
MAX_DIAGNOSIS, MAX_ACTION, MAX_ACTIONS, MAX_PART, MAX_GIVEN = 4_000, 1_000, 30, 200, 500

_MENDED = "mended_"
_OWN_NAMES = frozenset({"part", "diagnosis", "actions"})
_DIAGNOSIS = ("diagnosis", "诊断")
_ACTIONS = ("actions", "action", "steps", "处理步骤", "步骤")
_LINE_OR_MARK = re.compile(r"[\r\n；;]+")


def repaired(message: AIMessage) -> AIMessage:
    """A new message with the calls that were meant: own ids, known argument shapes, at most 8 calls.

    Calls that the client could not parse are mended; calls written as text are taken from the text.
    """
    content = clean(message.text)
    calls = [_call(call["name"], call["args"]) for call in message.tool_calls[:MAX_CALLS_A_TURN]]
    unread = message.invalid_tool_calls[: MAX_CALLS_A_TURN - len(calls)]
    calls += [_call(call["name"] or "", parsed(call["args"]), mended=True) for call in unread]
    if not calls:
        calls = [_call(*call, mended=True) for call in calls_in(content)[:MAX_CALLS_A_TURN]]
    if not calls and not content.strip():
        content = "…"  # there are servers that take back no message without a word
    return AIMessage(content=content[:MAX_CONTENT], tool_calls=calls, usage_metadata=message.usage_metadata)


def _call(written: str, given: dict[str, Any], mended: bool = False) -> ToolCall:
    """With an id of our own (those of local servers repeat), which says whether the call was mended; and
    with arguments as the tool has them, so that the model reads in the history how to write them."""
    name, arguments = tool_name(written), cleaned(given)
    own: dict[str, Any] = {}
    if name in TOOL_NAMES:
        arguments = _unwrapped(arguments)
        own = arguments_for(StepName(name), arguments)
        if any(own[key] and own[key] != arguments.get(key) for key in own):
            arguments = own
    if len(json.dumps(arguments, ensure_ascii=False)) > MAX_MENDED:
        arguments = own
    mended = mended or name != written or any(own[key] and own[key] != given.get(key) for key in own)
    return tool_call(name=name, args=arguments, id=f"{_MENDED if mended else 'call_'}{uuid4().hex}")


def was_mended(call_id: str | None) -> bool:
    """Whether the call of that id had to be mended, told from what the model wrote natively and well."""
    return call_id is not None and call_id.startswith(_MENDED)


def arguments_for(step: StepName, given: dict[str, Any]) -> dict[str, Any]:
    """What the tool is really called with: strings within bounds, and only what is the model's to say."""
    given = _unwrapped(cleaned(given))
    if step is StepName.QUERY_SPARE_PARTS:
        return {"part": _part(given)[:MAX_PART]}
    if step is StepName.GENERATE_WORK_ORDER:
        items = [_text(item)[:MAX_ACTION] for item in _items(_named(given, _ACTIONS))]
        return {
            "diagnosis": _text(_named(given, _DIAGNOSIS))[:MAX_DIAGNOSIS],
            "actions": [item for item in items if item.strip()][:MAX_ACTIONS],
        }
    return {}


def _unwrapped(given: dict[str, Any]) -> dict[str, Any]:
    """Without a wrapper such as {"input": "{…}"} or {"name": …, "arguments": {…}}."""
    for _ in range(3):
        wrapper = next((name for name in ARGUMENT_NAMES if name in given), None)
        if wrapper is None or given.keys() & _OWN_NAMES:
            break
        inner = cleaned(parsed(given[wrapper]))
        if not inner:
            break
        given = inner
    return given


def _named(given: dict[str, Any], names: tuple[str, ...]) -> Any:
    """The argument of the first of these names, in capitals or not."""
    by_name = {name.lower(): value for name, value in given.items()}
    return next((by_name[name] for name in names if name in by_name), None)


def _part(given: dict[str, Any]) -> str:
    """One part: the argument that says so by its name, else the first that can be one."""
    value = next((value for name, value in given.items() if "part" in name.lower()), None)
    if value is None:
        value = next((value for value in given.values() if isinstance(value, str | list | dict)), "")
    while isinstance(value, list | dict):
        value = _part(value) if isinstance(value, dict) else next(iter(value), "")
    return _text(value).replace("�", "")


def _items(actions: Any) -> list[Any]:
    """A list as it is; else an object's values, a list written as a string, or its lines."""
    if isinstance(actions, dict):
        return list(actions.values())
    if isinstance(actions, str) and actions.lstrip().startswith("["):
        actions = loaded(actions) or actions
    return actions if isinstance(actions, list) else _LINE_OR_MARK.split(_text(actions))


def _text(value: Any) -> str:
    """A string as it is, a container's strings joined, anything else as JSON has it."""
    if isinstance(value, list | dict):
        parts = map(_text, value.values() if isinstance(value, dict) else value)
        return " ".join(part for part in parts if part)
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


def shortened(given: dict[str, Any]) -> dict[str, Any]:
    """A model's arguments as they are kept in the account; what is too long is cut."""
    written = json.dumps(given, ensure_ascii=False)
    return given if len(written) <= MAX_GIVEN else {"cut": written[:MAX_GIVEN]}
