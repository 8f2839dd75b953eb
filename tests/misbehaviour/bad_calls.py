"""Tool calls written badly: arguments, names and ids in every shape but the right one."""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.helpers.endpoint import Behaviour, Conversation, Message, says, written
from tests.misbehaviour.ways import arguments_as, as_json, one_call, speaks, wordy_calls, writes

LONG = "x" * 50_000
MEGABYTE = "长" * 1_000_000


def _deep(arguments: dict[str, Any]) -> str:
    """The arguments and beside them a value nested a thousand times."""
    return as_json(arguments)[:-1] + (", " if arguments else "") + '"x": ' + "[" * 1000 + "]" * 1000 + "}"


def _plain(arguments: dict[str, Any]) -> str:
    """No quote anywhere: {part: 触摸屏}"""
    return as_json(arguments).replace('"', "")


def _first_value(arguments: dict[str, Any]) -> Any:
    return next(iter(arguments.values()), "")


def _wrong_types(arguments: dict[str, Any]) -> str:
    """A list for a string, a string for a list, an object for either."""
    wrong = {"part": [arguments.get("part")], "diagnosis": {"text": arguments.get("diagnosis")}}
    own: dict[str, Any] = {name: wrong.get(name, value) for name, value in arguments.items()}
    if "actions" in own:
        own["actions"] = "\n".join(own["actions"])
    return as_json(own)


def _numbers(arguments: dict[str, Any]) -> str:
    return as_json(dict.fromkeys(arguments, 7))


def _names_as(name_of: Callable[[str], Any]) -> Behaviour:
    return writes(lambda name, arguments: written(name_of(name), as_json(arguments)))


def _ids(*ids: Any) -> Behaviour:
    """The same few ids each turn."""

    def behaves(conversation: Conversation) -> Message:
        calls = [written(name, as_json(arguments)) for name, arguments in wordy_calls(conversation)]
        return speaks(says(""), tool_calls=[call | {"id": ids[n % len(ids)]} for n, call in enumerate(calls)])

    return behaves


def _message(shape: Callable[[list[dict[str, Any]]], Any], **fields: Any) -> Behaviour:
    """A perfect model whose whole list of calls has another shape."""

    def behaves(conversation: Conversation) -> Message:
        calls = [
            written(name, as_json(arguments), n)
            for n, (name, arguments) in enumerate(wordy_calls(conversation))
        ]
        return speaks(says(""), tool_calls=shape(calls), **fields)

    return behaves


def _one_call_alone(conversation: Conversation) -> Message:
    """One call a turn, and not in a list."""
    name, arguments = one_call(conversation)
    return speaks(says(""), tool_calls=written(name, as_json(arguments)))


def _legacy(conversation: Conversation) -> Message:
    """One call a turn, as endpoints spoke before there were tools."""
    name, arguments = one_call(conversation)
    call = {"name": name, "arguments": as_json(arguments)}
    return {"role": "assistant", "content": None, "function_call": call}


def _the_schema_filled_in(arguments: dict[str, Any]) -> str:
    return as_json({"type": "object", "properties": arguments, "required": list(arguments)})


BEHAVIOURS: dict[str, Behaviour] = {
    "unquoted keys": arguments_as(
        lambda a: "{" + ", ".join(f"{k}: {as_json(v)}" for k, v in a.items()) + "}"
    ),
    "nothing quoted": arguments_as(_plain),
    "single quotes": arguments_as(str),
    "typographic quotes": arguments_as(lambda a: re.sub('"(.*?)"', r"“\1”", as_json(a))),
    "a trailing comma": arguments_as(lambda a: as_json(a)[:-1] + ",}"),
    "a missing comma": arguments_as(lambda a: as_json(a).replace('", "', '" "')),
    "comments": arguments_as(lambda a: as_json(a)[:-1] + " // 参数\n}"),
    "fenced": arguments_as(lambda a: f"```json\n{as_json(a)}\n```"),
    "talk around it": arguments_as(lambda a: f"参数如下：{as_json(a)} 谢谢"),
    "JSON in a string": arguments_as(lambda a: as_json(as_json(a))),
    "JSON in a string in a string": arguments_as(lambda a: as_json(as_json(as_json(a)))),
    "JSON under input": arguments_as(lambda a: as_json({"input": as_json(a)})),
    "an object under input": arguments_as(lambda a: as_json({"input": a})),
    "an object under arguments": arguments_as(lambda a: as_json({"name": "?", "arguments": a})),
    "the schema filled in": arguments_as(_the_schema_filled_in),
    "an object, not a string": arguments_as(lambda a: a),
    "an array around the object": arguments_as(lambda a: as_json([a])),
    "an array of the values": arguments_as(lambda a: as_json(list(a.values()))),
    "a bare string": arguments_as(lambda a: str(_first_value(a))),
    "a JSON string": arguments_as(lambda a: as_json(str(_first_value(a)))),
    "a number": arguments_as(lambda a: "42"),
    "true": arguments_as(lambda a: "true"),
    "null": arguments_as(lambda a: "null"),
    "null, not a string": arguments_as(lambda a: None),
    "an empty string": arguments_as(lambda a: ""),
    "no arguments at all": writes(lambda name, a: {"type": "function", "function": {"name": name}}),
    "cut off in the middle": arguments_as(lambda a: as_json(a)[: len(as_json(a)) // 2]),
    "cut off before the brace": arguments_as(lambda a: as_json(a)[:-1]),
    "cut off at the first brace": arguments_as(lambda a: "{"),
    "twice in a row": arguments_as(lambda a: as_json(a) * 2),
    "a key twice": arguments_as(lambda a: as_json(a)[:-1] + ", " * bool(a) + as_json(a)[1:]),
    "unknown extra fields": arguments_as(
        lambda a: as_json({"reason": "需要", "verbose": True} | a | {"n": [1]})
    ),
    "wrong types": arguments_as(_wrong_types),
    "numbers for strings": arguments_as(_numbers),
    "capitals": arguments_as(lambda a: as_json({name.title(): value for name, value in a.items()})),
    "50 kilobytes more": arguments_as(lambda a: as_json(a | {"note": LONG})),
    "a megabyte more": arguments_as(lambda a: as_json(a | {"note": MEGABYTE})),
    "a megabyte cut off": arguments_as(lambda a: as_json({"note": MEGABYTE} | a)[:-20]),
    "a megabyte of braces": arguments_as(lambda a: "{" * 1_000_000),
    "nested a thousand times": arguments_as(_deep),
    "NaN and Infinity": arguments_as(lambda a: json.dumps(a | {"x": float("nan"), "y": float("inf")})),
    "a number of 5,000 digits": arguments_as(
        lambda a: as_json(a)[:-1] + ", " * bool(a) + '"x": 1' + "0" * 5000 + "}"
    ),
    "a NUL and a lone surrogate": arguments_as(
        lambda a: json.dumps(a | {"x": "\x00\ud800", "\udfff": "\x00"})
    ),
    "a NUL in every value": arguments_as(
        lambda a: json.dumps(
            {k: v + "\x00\ud800" if isinstance(v, str) else [*v, "\x00"] for k, v in a.items()}
        )
    ),
    "control characters": arguments_as(
        lambda a: as_json(a | {"x": "QQ"}).replace("QQ", "\x01\x02\x1b[31m\n\t")
    ),
    "a byte order mark": arguments_as(lambda a: "\ufeff" + as_json(a)),
    "a namespace before the name": _names_as(lambda name: f"functions.{name}"),
    "another case of the name": _names_as(lambda name: name.upper()),
    "camel case": _names_as(lambda name: name.title().replace("_", "")),
    "brackets after the name": _names_as(lambda name: f" {name}() "),
    "the arguments in the name": _names_as(lambda name: f"{name}(part='触摸屏')"),
    "no name": _names_as(lambda name: None),
    "an empty name": _names_as(lambda name: ""),
    "a number for a name": _names_as(lambda name: 7),
    "a name of a thousand letters": _names_as(lambda name: "x" * 1000),
    "a tool that does not exist": _names_as(lambda name: f"{name}_v2"),
    "no id": writes(lambda name, a: written(name, as_json(a)) | {"id": None}),
    "an id that is a number": writes(lambda name, a: written(name, as_json(a)) | {"id": 7}),
    "an id of a thousand letters": _ids("x" * 1000),
    "one id for all": _ids("call_0"),
    "ids with marks in them": _ids("调用/1 \n", "\x00"),
    "no type": writes(lambda name, a: {"function": {"name": name, "arguments": as_json(a)}}),
    "no function around it": writes(lambda name, a: {"name": name, "arguments": a}),
    "one call, not a list": _one_call_alone,
    "nothings among the calls": _message(lambda calls: [None, *calls, "query_shift", 7, {}, []]),
    "an object of calls": _message(lambda calls: {str(n): call for n, call in enumerate(calls)}),
    "another role": _message(lambda calls: calls, role="tool"),
    "no role": _message(lambda calls: calls, role=None),
    "content that is a list": _message(lambda calls: calls, content=[{"type": "text", "text": "好"}, "的"]),
    "content that is a number": _message(lambda calls: calls, content=7),
    "content of NUL and surrogates": _message(lambda calls: calls, content="\x00\ud800"),
    "a megabyte of content": _message(lambda calls: calls, content=MEGABYTE),
    "a message id that is a number": _message(lambda calls: calls, id=7, name=8),
    "a function call of old": _legacy,
}

# Not plain what was meant, or for some of the tools only.
_AIDED = {
    "nothing quoted", "an array of the values", "a bare string", "a JSON string", "a number", "true", "null",
    "null, not a string", "an empty string", "no arguments at all", "cut off in the middle",
    "cut off at the first brace", "numbers for strings", "a megabyte more", "a megabyte of content",
    "a megabyte cut off", "a megabyte of braces", "nested a thousand times", "no name", "an empty name",
    "a number for a name", "a name of a thousand letters", "a tool that does not exist",
    "the arguments in the name", "a missing comma", "a NUL in every value",
}  # fmt: skip
UNAIDED = frozenset(BEHAVIOURS) - _AIDED
