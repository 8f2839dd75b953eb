"""Fault codes and names as they are compared; they are shown as they were received."""

import json
import re
import unicodedata
from hashlib import sha256

CODE_LENGTH = 100
NAME_LENGTH = 200
FINGERPRINT_DIGITS = 12
"""So many digits of a fingerprint are shown, and are enough to name it."""

# The unicode relatives of '-' are the dashes (category Pd) and the minus sign.
_DASHES = (
    r"\-\u058a\u05be\u1400\u1806\u2010-\u2015\u2212\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\u301c\u3030\u30a0"
)
_SEPARATOR = rf"[\s_:#.{_DASHES}]"
_LETTER = r"[^\W\d_]"

_AT_START = re.compile(rf"^{_SEPARATOR}+")
_AT_END = re.compile(rf"{_SEPARATOR}+$")
_SIGN = re.compile(rf"[{_DASHES}]$")
_LETTER_AND_DIGIT = re.compile(rf"(?<={_LETTER}){_SEPARATOR}+(?=\d)|(?<=\d){_SEPARATOR}+(?={_LETTER})")
_RUN = re.compile(rf"{_SEPARATOR}+")
_SPREADSHEET_ZEROS = re.compile(r"^([^.]*\d)\.0+$")
_LEADING_ERROR = re.compile(r"^ERR(?:OR)?(?=\d)")


def normalise(code: str) -> str:
    """The code as it is compared: `E401`, `e-401`, `Err 401` and `E401.0` are one, `E0401` is not.

    At most 100 characters, empty only for a blank code, and the same again when normalised again. Where
    two codes might be two, they stay two: to miss an entry is better than to take another fault's entry.
    """
    text = _visible(code).upper()
    while (again := _clean(text) or text) != text:
        text = again
    return _cut(text, CODE_LENGTH)


def comparable(text: str) -> str:
    """A name or part number without what people write differently: width, case, space and separators.

    Separators between two digits stay, so that `2.2KW` is not `22KW`. At most 200 characters.
    """
    text = _visible(text).casefold()
    while (again := _bare(text) or text) != text:
        text = again
    return _cut(text, NAME_LENGTH)


def fingerprint(line_name: str, equipment: str, fault_code: str) -> str:
    """The same 64 hex digits for each alarm of one code on one piece of equipment of one line."""
    facts = [comparable(line_name), comparable(equipment), normalise(fault_code)]
    return sha256(json.dumps(facts).encode()).hexdigest()


def _visible(text: str) -> str:
    """NFKC without the marks that no screen shows (byte order mark, zero width space, soft hyphen)."""
    text = unicodedata.normalize("NFKC", text).strip()
    return "".join(mark for mark in text if unicodedata.category(mark) != "Cf").strip() or text


def _clean(text: str) -> str:
    text = _visible(text).upper()
    text = _without_ends(text)
    text = _LETTER_AND_DIGIT.sub("", text)
    text = _RUN.sub(_joined, text)
    text = _SPREADSHEET_ZEROS.sub(r"\1", text)
    return _LEADING_ERROR.sub("E", text)


def _without_ends(text: str) -> str:
    text = _AT_END.sub("", text)
    start = _AT_START.match(text)
    if start is None:
        return text
    rest = text[start.end() :]
    negative = _SIGN.search(start.group()) and rest[:1].isdecimal()  # -113 and 113 are two codes (SCPI)
    return f"-{rest}" if negative else rest


def _joined(run: re.Match[str]) -> str:
    return "." if run.group() == "." and _between_digits(run) else "-"


def _bare(text: str) -> str:
    return _RUN.sub(lambda run: _joined(run) if _between_digits(run) else "", _visible(text).casefold())


def _between_digits(run: re.Match[str]) -> bool:
    text, start, end = run.string, run.start(), run.end()
    return start > 0 and end < len(text) and text[start - 1].isdecimal() and text[end].isdecimal()


def _cut(text: str, length: int) -> str:
    """NFKC can make one character eighteen: what is too long ends in a digest of the whole."""
    if len(text) <= length:
        return text
    digest = int(sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), 16) % 10**16
    return f"{_AT_END.sub('', text[: length - 17])}~{digest:016d}"
