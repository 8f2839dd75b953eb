"""Tool calls that a model wrote into its text, in the formats in which models do that."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from db.models.order import StepName
from worker.agent.loose import MAX_BRACKETS, MAX_MENDED, loaded, parsed

Call = tuple[str, dict[str, Any]]
"""A tool's name and the arguments."""

TOOL_NAMES = frozenset(StepName)

ARGUMENT_NAMES = (
    "arguments", "args", "parameters", "params", "input", "action_input", "tool_input", "kwargs",
    "properties",
)  # fmt: skip

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
# <function=NAME><parameter=KEY>VALUE</parameter></function>, or JSON for the parameters
_FUNCTION = re.compile(r"<function=[\"']?([\w.-]+)[\"']?>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=[\"']?(\w+)[\"']?>(.*?)(?:</parameter>|\Z)", re.DOTALL)
# <tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>
_NAMED = re.compile(r"\s*([\w.-]+)\s*(?:<arg_key>|\Z)")
_PAIR = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
# <｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME```json{…}```, or NAME<｜tool▁sep｜>{…}
_MARKED = re.compile(
    r"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?\s*([\w.-]+)\s*(?:<｜tool▁sep｜>)?\s*(?:```json)?"
    r"(.*?)(?:```|<｜tool▁call▁end｜>|\Z)",
    re.DOTALL,
)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_BY_LETTERS = {name.replace("_", ""): name.value for name in StepName}
_PYTHON = re.compile(rf"(?:^|[\[,;]|\bprint\()[ \t]*(?:\w+\.)?(?=({'|'.join(StepName)})\()", re.MULTILINE)


def calls_in(content: str) -> list[Call]:
    """The tool calls that a text holds after its thinking, in the first format of which it holds any."""
    content = _THINKING.sub("", content).rpartition("</think>")[2][-MAX_MENDED:]
    for read in (_marked, _functions, _json, _python):
        calls = [(tool_name(name), arguments) for name, arguments in read(content)]
        known = [call for call in calls if call[0] in TOOL_NAMES]
        if known:
            return known
    return []


def tool_name(written: str) -> str:
    """`functions.search_manual` and `SearchManual` are search_manual; another name is made one that an
    endpoint accepts in the history."""
    letters = re.sub(r"[\W_]", "", re.split(r"[.:/]", written.strip())[-1].lower())
    return _BY_LETTERS.get(letters) or _NOT_IN_A_NAME.sub("_", written.strip())[:64] or "unnamed"


def _marked(content: str) -> Iterator[Call]:
    for name, arguments in _MARKED.findall(content):
        yield name, parsed(arguments)
    for tagged in _TAGGED.findall(content):
        if named := _NAMED.match(tagged):
            yield named[1], {key.strip(): _value(value) for key, value in _PAIR.findall(tagged)}


def _functions(content: str) -> Iterator[Call]:
    for name, inner in _FUNCTION.findall(content):
        parameters = {key: _value(value) for key, value in _PARAMETER.findall(inner)}
        yield name, parameters or parsed(inner)


def _value(written: str) -> Any:
    """A string as it stands there; a list or an object as JSON."""
    written = written.strip()
    return loaded(written) if written.startswith(("[", "{")) else written


def _json(content: str) -> Iterator[Call]:
    """As `Action:` lines; as objects, tagged, fenced or bare."""
    for name, arguments in _ACTION.findall(content):
        yield name, parsed(arguments)
    for written in _TAGGED.findall(content) or _FENCED.findall(content) or [content]:
        for value in _objects(written):
            call = _call_of(value)
            if call is not None:
                yield call


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
            return found + _listed(loaded(written[bare.start() :]))
        found.append(value)
    return found or _listed(loaded(written))


def _listed(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    return value if isinstance(value, list) else [value]


def _call_of(value: Any) -> Call | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("function"), dict):
        value = value["function"]
    name = value.get("name") or value.get("tool") or value.get("function") or value.get("action")
    if not isinstance(name, str):
        return None
    return name, parsed(next((value[key] for key in ARGUMENT_NAMES if key in value), {}))


def _python(content: str) -> Iterator[Call]:
    """As calls in Python at the beginning of a line, of a list or in a print()."""
    for begun in _PYTHON.finditer(content):
        written = _until_closed(content[begun.end() :])
        if written.count("(") + written.count("[") + written.count("{") > MAX_BRACKETS:
            continue
        try:
            call = ast.parse(written, mode="eval").body
            if isinstance(call, ast.Call):
                named = {item.arg: ast.literal_eval(item.value) for item in call.keywords if item.arg}
                plain = [ast.literal_eval(item) for item in call.args]
                yield begun[1], named or ({"input": plain[0]} if plain else {})
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue


def _until_closed(written: str) -> str:
    """Up to the bracket that closes the first one, not counting those in strings; empty when none does."""
    depth, quote = 0, ""
    for n, mark in enumerate(written):
        if quote:
            quote = "" if mark == quote and written[n - 1] != "\\" else quote
        elif mark in "\"'":
            quote = mark
        elif mark in "()":
            depth += 1 if mark == "(" else -1
            if not depth:
                return written[: n + 1]
    return ""
