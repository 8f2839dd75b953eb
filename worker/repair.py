"""Tool calls that a weak model wrote badly, made well, so that the conversation stays well-formed."""

import json
import math
import re
from typing import Any
from uuid import uuid4

import json_repair
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall, tool_call

from db.models.order import StepName

MAX_CALLS_A_TURN = 8
MAX_CONTENT = 8_000
MAX_ARGUMENTS = 100_000
"""Characters; what is longer is no argument of these four tools."""
MAX_MENDED, MAX_BRACKETS = 10_000, 100
"""Mending takes time by the square of what is open, on the one event loop of all alarms."""
MAX_DEPTH = 20
MAX_DIAGNOSIS, MAX_ACTION, MAX_ACTIONS, MAX_PART, MAX_GIVEN = 4_000, 1_000, 30, 200, 500

TOOL_NAMES = frozenset(StepName)

_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_THINKING = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCED = re.compile(r"```(?:json|tool_call)?\s*(.*?)(?:```|\Z)", re.DOTALL)
_ACTION = re.compile(
    r"^[ \t]*Action[ \t]*[:：][ \t]*(\S+)(?:[ \t][^\n]*)?\n\s*Action Input[ \t]*[:：](.*?)"
    r"(?=^[ \t]*(?:Action|Observation|Thought)\b|\Z)",
    re.MULTILINE | re.DOTALL,
)
_BARE = re.compile(r"\{\s*['\"]?(?:name|tool|function|action)\b")
_DECODER = json.JSONDecoder(strict=False)
_ARGUMENT_NAMES = (
    "arguments",
    "args",
    "parameters",
    "params",
    "input",
    "action_input",
    "tool_input",
    "kwargs",
)
_OWN_NAMES = frozenset({"part", "diagnosis", "actions"})
_LINE_OR_MARK = re.compile(r"[\r\n；;]+")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_BY_LETTERS = {name.replace("_", ""): name.value for name in StepName}


def repaired(message: AIMessage) -> AIMessage:
    """A new message with the calls that were meant: own ids, known argument shapes, at most 8 calls.

    Calls that the client could not parse are mended; calls written as text are taken from the text.
    """
    content = clean(message.text)
    calls = [_call(call["name"], call["args"]) for call in message.tool_calls[:MAX_CALLS_A_TURN]]
    unread = message.invalid_tool_calls[: MAX_CALLS_A_TURN - len(calls)]
    calls += [_call(call["name"] or "", parsed(call["args"])) for call in unread]
    if not calls:
        calls = calls_in(content)[:MAX_CALLS_A_TURN]
    return AIMessage(content=content[:MAX_CONTENT], tool_calls=calls, usage_metadata=message.usage_metadata)


def calls_in(content: str) -> list[ToolCall]:
    """The tool calls that a text holds after its thinking: tagged, fenced, as `Action:` lines, or bare."""
    content = _THINKING.sub("", content).rpartition("</think>")[2][-MAX_MENDED:]
    actions = [_call(name, parsed(arguments)) for name, arguments in _ACTION.findall(content)]
    written = _TAGGED.findall(content) or _FENCED.findall(content) or [content]
    objects = [item for part in written for item in _objects(part)]
    calls = actions + [call for call in map(_call_of, objects) if call is not None]
    return [call for call in calls if call["name"] in TOOL_NAMES]


def _objects(written: str) -> list[Any]:
    """The JSON values of a text that may be calls; the first that needs mending takes the rest with it."""
    try:
        return _listed(json.loads(written, strict=False))
    except (ValueError, RecursionError):
        pass
    found: list[Any] = []
    end = 0
    while bare := _BARE.search(written, end):
        try:
            value, end = _DECODER.raw_decode(written, bare.start())
        except (ValueError, RecursionError):
            return found + _listed(_loaded(written[bare.start() :]))
        found.append(value)
    return found or _listed(_loaded(written))


def _listed(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    return value if isinstance(value, list) else [value]


def _loaded(written: str) -> Any:
    """The JSON value, mended where it is plain what was meant; an empty string for what is none."""
    if len(written) > MAX_ARGUMENTS:
        return ""
    try:
        return json.loads(written, strict=False)
    except (ValueError, RecursionError):
        pass
    if len(written) > MAX_MENDED or written.count("{") + written.count("[") > MAX_BRACKETS:
        return ""
    try:
        return json_repair.loads(written, skip_json_loads=True)
    except Exception:  # of a library, on text made by a machine: whatever it cannot mend is no call
        return ""


def _call_of(value: Any) -> ToolCall | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("function"), dict):
        value = value["function"]
    name = value.get("name") or value.get("tool") or value.get("function") or value.get("action")
    if not isinstance(name, str):
        return None
    arguments: Any = next((value[key] for key in _ARGUMENT_NAMES if key in value), {})
    return _call(name, parsed(arguments))


def _call(name: str, arguments: dict[str, Any]) -> ToolCall:
    """With an id of our own (those of local servers repeat) and arguments of a size that may be sent back."""
    name, arguments = _known(name), cleaned(arguments)
    if len(json.dumps(arguments, ensure_ascii=False)) > MAX_MENDED:
        arguments = arguments_for(StepName(name), arguments) if name in TOOL_NAMES else {}
    return tool_call(name=name, args=arguments, id=f"call_{uuid4().hex}")


def _known(name: str) -> str:
    """`functions.search_manual` and `SearchManual` are search_manual; another name is made one that an
    endpoint accepts in the history."""
    letters = re.sub(r"[\W_]", "", re.split(r"[.:/]", name.strip())[-1].lower())
    return _BY_LETTERS.get(letters) or _NOT_IN_A_NAME.sub("_", name.strip())[:64] or "unnamed"


def parsed(arguments: Any) -> dict[str, Any]:
    """Arguments as an object, whatever they were written as; a bare string stands under `input`."""
    for _ in range(3):  # JSON in JSON in JSON is as deep as it was seen
        if not isinstance(arguments, str):
            break
        written = arguments.strip()
        if written in ("", "null", "None", '""', "''") or len(written) > MAX_ARGUMENTS:
            return {}
        arguments = _loaded(written)
        if arguments in ("", None):
            return {"input": written}
    if isinstance(arguments, dict):
        return arguments
    return {"input": arguments} if arguments else {}


def arguments_for(step: StepName, given: dict[str, Any]) -> dict[str, Any]:
    """What the tool is really called with: strings within bounds, and only what is the model's to say."""
    given = _unwrapped(cleaned(given))
    if step is StepName.QUERY_SPARE_PARTS:
        return {"part": _part(given)[:MAX_PART]}
    if step is StepName.GENERATE_WORK_ORDER:
        items = [_text(item)[:MAX_ACTION] for item in _items(given.get("actions"))]
        return {
            "diagnosis": _text(given.get("diagnosis"))[:MAX_DIAGNOSIS],
            "actions": [item for item in items if item.strip()][:MAX_ACTIONS],
        }
    return {}


def _unwrapped(given: dict[str, Any]) -> dict[str, Any]:
    """Without a wrapper such as {"input": "{…}"} or {"name": …, "arguments": {…}}."""
    for _ in range(3):
        wrapper = next((name for name in _ARGUMENT_NAMES if name in given), None)
        if wrapper is None or given.keys() & _OWN_NAMES:
            break
        inner = cleaned(parsed(given[wrapper]))
        if not inner:
            break
        given = inner
    return given


def _part(given: dict[str, Any]) -> str:
    """One part: the argument that says so by its name, else the first that can be one."""
    value = next((value for name, value in given.items() if "part" in name.lower()), None)
    if value is None:
        value = next((value for value in given.values() if isinstance(value, str | list | dict)), "")
    while isinstance(value, list | dict):
        value = _part(value) if isinstance(value, dict) else next(iter(value), "")
    return _text(value)


def _items(actions: Any) -> list[Any]:
    """A list as it is; else an object's values, a list written as a string, or its lines."""
    if isinstance(actions, dict):
        return list(actions.values())
    if isinstance(actions, str) and actions.lstrip().startswith("["):
        actions = _loaded(actions) or actions
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


def clean(value: str) -> str:
    """Without what no database and no later request can carry: NUL and lone surrogates."""
    return _UNSTORABLE.sub("�", value)


def cleaned(value: Any, depth: int = 0) -> Any:
    """The same for a whole JSON value; no number that JSON has not, no nesting that a reader gives up at."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | dict) and depth >= MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [cleaned(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {clean(str(key)): cleaned(item, depth + 1) for key, item in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):  # more digits than this are refused by readers, Python's among them
        return value if value.bit_length() <= 64 else None
    return None
