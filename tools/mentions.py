"""Where a text names a work order, a line or a fault code; rather one too few than a part or a voltage."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from db.codes import comparable, normalise

Kind = Literal["order", "line", "code"]

_WORD = "A-Za-z0-9"
_HAN = "\u4e00-\u9fff"
_ORDER = re.compile(rf"(?<![{_WORD}])WO[-_ ]?\d{{4,}}(?:[-_]\d+)*(?![{_WORD}])", re.IGNORECASE)

_TOKEN = re.compile(
    rf"(?<![{_WORD}])(?<![{_WORD}][-_.])"
    r"(?P<letters>[A-Za-z]{0,6})(?P<gap>[\s_:#.\-]{0,2})(?P<digits>\d{1,6})(?P<rest>(?:[-.]\d{1,4})*)"
    rf"(?![{_WORD}]|[-_.][{_WORD}]|\s*%)"
)
"""Letters and digits that stand alone; not a piece of a longer name such as CM-485-02 or S7-1200B."""
_CODE_BEFORE = re.compile(
    r"(?:代码|故障码|报警码|错误码|报警号|报警|警报|故障|(?<![a-z])(?:code|alarm|fault|error))"
    r"\s*(?:code|no\.?|号|码)?\s*[:：#]?\s*[\"'“‘「(（]?$",
    re.IGNORECASE,
)
_CODE_AFTER = re.compile(
    r"[\"'”’」)）]?\s*(?:号?报警|号?故障|警报|(?:alarm|fault|error)(?![a-z]))", re.IGNORECASE
)
_CODE_WORDS = frozenset({"CODE", "ALARM", "FAULT", "NO"})
_ERROR_WORDS = frozenset({"ERR", "ERROR"})  # Err 401 is E401
_NO_CODE = frozenset(
    {"M", "Q", "G", "AC", "DC", "RS", "PT", "IP", "PE", "EN", "GB", "CE", "UL", "CR", "WO", "ISO", "IEC"}
    | {"DIN", "SUS", "VDC", "VAC"}
)
"""Threads, steels, voltages, interfaces, sensors, standards: written as codes are, and not meant as such."""
_DEVICE = (
    "继电器|接触器|断路器|传感器|接近开关|开关|按钮|电磁阀|阀|电机|马达|气缸|端子|"
    "relay|contactor|breaker|sensor|switch|button|valve|motor|cylinder|terminal"
)
_DEVICE_AFTER = re.compile(rf"\s*(?:号)?(?:{_DEVICE})", re.IGNORECASE)
_DEVICE_BEFORE = re.compile(rf"(?:{_DEVICE})\s*$", re.IGNORECASE)
"""K101 beside one of these is its name in the circuit diagram."""

_LINE_NOUN = "组装|装配|总装|包装|老化|测试|检测|贴片|焊接|冲压|注塑|喷涂|涂装|加工|物流"
_INDEX = r"(?P<index>[A-Z]|\d{1,2})"
_LINES = (
    re.compile(rf"(?P<noun>{_LINE_NOUN})\s*{_INDEX}\s*号?线"),
    re.compile(rf"(?:生产线|流水线|产线)\s*{_INDEX}(?![{_WORD}])"),
    re.compile(rf"(?<![{_WORD}]){_INDEX}\s*号?(?:生产线|流水线|产线)"),
    re.compile(
        rf"(?:\bLine|\b(?:production|assembly|packing|on) line)[ \-#]?(?!I\b){_INDEX}(?![{_WORD}]|\s*[Vv%])"
    ),
)
_OWN_INDEX = re.compile(
    rf"{_INDEX}\s*号?(?:生产|流水|产)?线|(?:线|LINE)[\s\-#]*(?P<last>[A-Z]|\d{{1,2}})(?![{_WORD}])"
)
_BETWEEN = re.compile(r"[\s_:#.\-\u2010-\u2015\u2212]+")


@dataclass(frozen=True)
class Mention:
    kind: Kind
    text: str  # as it is written
    key: str  # as it is compared


class Passage:
    """A text in one width, without what no screen shows; it knows where in the original each mark stood."""

    def __init__(self, original: str) -> None:
        self.original = original
        marks: list[str] = []
        self._at: list[int] = []
        for index, mark in enumerate(original):
            if unicodedata.category(mark) != "Cf":
                plain = mark if mark.isascii() else unicodedata.normalize("NFKC", mark)
                marks.append(plain)
                self._at += [index] * len(plain)
        self.text = "".join(marks)

    def written(self, start: int, end: int) -> str:
        return self.original[self._at[start] : self._at[end - 1] + 1]

    def whole(self, start: int, end: int) -> bool:
        """Whether no word goes on beyond either end."""
        return not (_joined(self.text[start - 1 : start + 1]) or _joined(self.text[end - 1 : end + 1]))

    @cached_property
    def bare(self) -> tuple[str, list[int]]:
        """As `comparable` has it, and where in the text each mark stands."""
        marks: list[str] = []
        at: list[int] = []
        for index, mark in enumerate(self.text):
            if mark.isalnum() or not _BETWEEN.fullmatch(mark):
                folded = mark.casefold()
            elif marks and marks[-1].isdecimal() and _digit_follows(self.text, index):
                folded = "." if mark == "." else "-"
            else:
                continue
            marks.append(folded)
            at += [index] * len(folded)
        return "".join(marks), at


def _joined(two: str) -> bool:
    return len(two) == 2 and two.isascii() and two.isalnum()


def _digit_follows(text: str, index: int) -> bool:
    after = _BETWEEN.match(text, index)
    end = after.end() if after is not None else index
    return text[end : end + 1].isdecimal()


def orders(passage: Passage) -> Iterator[Mention]:
    for found in _ORDER.finditer(passage.text):
        yield Mention("order", passage.written(*found.span()), comparable(found.group()))


def codes(passage: Passage, own: str, known: Collection[str]) -> Iterator[Mention]:
    """Each fault code other than `own`: one of the `known` ones, one of the shape of `own`, or what the
    text itself calls a code. Own and known are normalised."""
    for found in _TOKEN.finditer(passage.text):
        start, end = found.span()
        word, gap = found["letters"].upper(), found["gap"]
        named = word in _CODE_WORDS or word in _ERROR_WORDS
        if not word or word in _CODE_WORDS:  # fault 305
            start, word = found.start("digits"), ""
        elif word in _ERROR_WORDS:
            word, gap = "E", ""
        key = normalise(passage.text[start:end])
        if key == own:
            continue
        named = named or _CODE_BEFORE.search(passage.text, max(start - 24, 0), start) is not None
        named = named or _CODE_AFTER.match(passage.text, end, end + 12) is not None
        if key in known:
            meant = named or bool(word and len(word + found["digits"]) >= 4)
        else:
            meant = gap in ("", "-", "_") and not found["rest"].strip(".0")
            meant = meant and _code_like(word, len(found["digits"]), own, named)
            if meant and not named and word != _letters(own):
                meant = not _beside_a_device(passage.text, start, end)
        if meant:
            yield Mention("code", passage.written(start, end), key)


def _code_like(letters: str, digits: int, own: str, named: bool) -> bool:
    mine = _letters(own)
    if not letters or (letters in _NO_CODE and letters != mine):
        return False
    if named:
        return 3 <= digits <= 5
    exact = len(own) - len(mine) if len(mine) > 1 else 0
    return len(letters) == len(mine) and digits in (3, 4, exact)


def _letters(code: str) -> str:
    """The letters of a code that is letters and digits; else none."""
    found = re.fullmatch(r"([A-Z]{1,6})\d{2,6}", code)
    return found.group(1) if found is not None else ""


def _beside_a_device(text: str, start: int, end: int) -> bool:
    before = _DEVICE_BEFORE.search(text, max(start - 12, 0), start)
    return bool(before or _DEVICE_AFTER.match(text, end, end + 16))


def lines(passage: Passage, own: Sequence[str], known: Collection[str]) -> Iterator[Mention]:
    """Each line other than this one: one of the `known` names, or what is named like a line. `own` are
    the names of this one and of what stands on it."""
    own_keys = {comparable(name) for name in own}
    taken: list[tuple[int, int]] = []
    for start, end, key in _named(passage, own_keys | {comparable(name) for name in known}):
        taken.append((start, end))
        if key not in own_keys:
            yield Mention("line", passage.written(start, end), key)
    for pattern in _LINES:
        for found in pattern.finditer(passage.text):
            start, end = found.span()
            if any(start < after and before < end for before, after in taken):
                continue
            taken.append((start, end))
            key = comparable(found.group())
            if not _is_own(key, found, own[0] if own else ""):
                yield Mention("line", passage.written(start, end), key)


def _named(passage: Passage, keys: Collection[str]) -> list[tuple[int, int, str]]:
    """Where the names stand in the text; of two that overlap the first, and the longer."""
    bare, at = passage.bare
    found: list[tuple[int, int, str]] = []
    for key in keys:
        if len(key) < 3 and not re.search(f"[{_HAN}]", key):
            continue  # a bare A or L1 is anything
        start = bare.find(key)
        while start >= 0:
            first, after = at[start], at[start + len(key) - 1] + 1
            if passage.whole(first, after):
                found.append((first, after, key))
            start = bare.find(key, start + 1)
    end = 0
    kept = []
    for first, after, key in sorted(found, key=lambda one: (one[0], -one[1])):
        if first >= end:
            kept.append((first, after, key))
            end = after
    return kept


def _is_own(key: str, found: re.Match[str], own: str) -> bool:
    """Whether a short name may mean this line: it is a piece of its name, or has its letter or number."""
    if key in comparable(own):
        return True
    if "noun" in found.re.groupindex:
        return False
    mine = _OWN_INDEX.search(unicodedata.normalize("NFKC", own).upper())
    index = (mine["index"] or mine["last"]) if mine is not None else None
    return index is None or index.lstrip("0") == found["index"].lstrip("0")
