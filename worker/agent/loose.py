"""JSON as weak models write it, read where it is plain what was meant; values that can be kept and sent."""

import json
import math
import re
from typing import Any

import json_repair

MAX_ARGUMENTS = 100_000
"""Characters; what is longer is no argument of these four tools."""
MAX_MENDED, MAX_BRACKETS = 10_000, 100
"""Mending takes time by the square of what is open, on the one event loop of all alarms."""
MAX_DEPTH = 20

_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def loaded(written: str) -> Any:
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


def parsed(arguments: Any) -> dict[str, Any]:
    """Arguments as an object, whatever they were written as; a bare string stands under `input`."""
    for _ in range(3):  # JSON in JSON in JSON is as deep as it was seen
        if not isinstance(arguments, str):
            break
        written = arguments.strip()
        if written in ("", "null", "None", '""', "''") or len(written) > MAX_ARGUMENTS:
            return {}
        arguments = loaded(written)
        if arguments in ("", None):
            return {"input": written}
    if isinstance(arguments, list) and len(arguments) == 1 and isinstance(arguments[0], dict):
        arguments = arguments[0]
    if isinstance(arguments, dict):
        return arguments
    return {"input": arguments} if arguments else {}


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
