"""What a value of an event must be, so that it can be stored and compared wherever it goes."""

import math
import unicodedata
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue
from pydantic_core import PydanticCustomError

MAX_NESTING = 8
FIRST_YEAR, LAST_YEAR = 1970, 2199  # far enough from datetime's ends for any arithmetic with zones

_EXACT_IN_A_FLOAT = 2**53
_UNSEEN = {"Cc", "Cf", "Zs", "Zl", "Zp"}


def shown(text: str, most: int) -> str:
    """One line that can be printed and stored whatever is quoted in it, at most `most` characters long."""
    start = text[: most + 1]  # an escape is longer than what it stands for, never shorter
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in start)
    return safe if len(safe) <= most else safe[: most - 1] + "…"


def name(value: Any) -> Any:
    """A name without the blanks around it; one that shows nothing at all is empty."""
    if not isinstance(value, str):
        return value
    value = note(value).strip()
    return "" if all(unicodedata.category(character) in _UNSEEN for character in value) else value


def note(value: Any) -> Any:
    """Text as it was sent, if PostgreSQL can hold it."""
    if isinstance(value, str) and (complaint := _unstorable(value)):
        raise PydanticCustomError("unstorable", complaint)
    return value


def severity(value: Any) -> int:
    # A whole number may be written 500.0, as JSON Schema allows; true and "500" are senders' mistakes.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000:
        raise PydanticCustomError("severity", "wants a whole number from 1 to 1000")
    return int(value)


def moment(value: Any) -> datetime:
    """A moment in UTC, from ISO 8601 text or an aware datetime."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip().upper())
        except ValueError:
            value = None
    if not isinstance(value, datetime):
        wants = "wants a date and time in ISO 8601, such as 2026-08-04T10:30:00+08:00"
        raise PydanticCustomError("moment", wants)
    if value.utcoffset() is None:
        wants = "wants its offset from UTC too, such as 2026-08-04T10:30:00+08:00"
        raise PydanticCustomError("naive", wants)
    try:
        in_utc = value.astimezone(UTC)
    except OverflowError:
        in_utc = datetime.min.replace(tzinfo=UTC)
    if not FIRST_YEAR <= in_utc.year <= LAST_YEAR:
        raise PydanticCustomError("moment_range", f"wants a year from {FIRST_YEAR} to {LAST_YEAR}")
    return in_utc


def json_object(value: Any) -> dict[str, JsonValue]:
    """A copy of a JSON object in which all can be stored, and equal numbers are written alike."""
    if not isinstance(value, dict):
        raise PydanticCustomError("object", "wants a JSON object")
    copy = _json(value, "", 1)
    assert isinstance(copy, dict)
    return copy


def _json(value: Any, where: str, depth: int) -> JsonValue:
    match value:
        case None | bool() | int():
            return value
        case float() if math.isfinite(value):
            whole = value.is_integer() and abs(value) < _EXACT_IN_A_FLOAT
            return int(value) if whole else value
        case float():
            raise _wrong(where, "wants a number that a float can hold")
        case str():
            if complaint := _unstorable(value):
                raise _wrong(where, complaint)
            return value
        case list() | tuple() | dict() if depth > MAX_NESTING:
            raise _wrong(where, f"is nested more than {MAX_NESTING} deep")
        case list() | tuple():
            return [_json(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
        case dict():
            copy: dict[str, JsonValue] = {}
            for key, item in value.items():
                below = f"{where}.{key}" if where else str(key)
                if not isinstance(key, str) or _unstorable(key):
                    raise _wrong(below, "wants a key of plain text")
                copy[key] = _json(item, below, depth + 1)
            return copy
        case _:
            raise _wrong(where, "wants JSON: text, number, true, false, null, array or object")


def _unstorable(text: str) -> str:
    if "\0" in text:
        return "holds a NUL character, which cannot be stored"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half of a surrogate pair, which is not Unicode text"
    return ""


def _wrong(where: str, what: str) -> PydanticCustomError:
    return PydanticCustomError("attribute", "{where} " + what, {"where": shown(where, 100)})
