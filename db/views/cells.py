"""The look that every table and view of ours shares, and text from outside made harmless."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime, timedelta, tzinfo
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.containers import Lines
from rich.table import Column, Table
from rich.text import Text

from db.models.follow_up import FollowUpStatus
from db.models.order import OrderStatus, StepStatus

Row = dict[str, Any]

STATUS_STYLES = {
    OrderStatus.WAITING: "yellow",
    OrderStatus.READY: "cyan",
    OrderStatus.DISPATCHED: "blue",
    OrderStatus.RUNNING: "bold green",
    OrderStatus.HELD: "magenta",
    OrderStatus.COMPLETED: "green",
    OrderStatus.CANCELLED: "bright_black",
    OrderStatus.CLOSED: "bright_black",
    FollowUpStatus.OPEN: "yellow",
    FollowUpStatus.RESOLVED: "green",
    FollowUpStatus.DISMISSED: "bright_black",
}
STEP_MARKS = {
    StepStatus.SUCCESS: ("✓", "green"),
    StepStatus.NOT_FOUND: ("∅", "yellow"),
    StepStatus.INVALID: ("✗", "red"),
    StepStatus.UNAVAILABLE: ("!", "bold red"),
}
PRIORITY_STYLES = {1: "bold red", 2: "yellow"}
FAINT = "bright_black"
NOTHING = "-"
DOUBT = "?"
"""Beside an order whose words name what is not its alarm's."""
CLEARED = "◦"
"""Beside the number of occurrences of a fault that has gone; narrow in every font."""
FLOOD = "≋"
"""Beside the number of occurrences in a flood; likewise."""
GAP = 2
"""Columns of air between two columns of a table."""

_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}
_TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_OPENING, _CLOSING = "（“‘《〈【「『［", "，。；：、！？）”’》〉】」』］…"
_UNIT = re.compile(rf"\s*[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}{_OPENING}{_CLOSING}]+)?[{_CLOSING}]*\s*")
"""What stays together on a line: a word, or one Chinese character with the punctuation that belongs to it."""


class Prose(Text):
    """Text that may be broken between any two Chinese characters; Rich takes a sentence for one word."""

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        if options.get("no_wrap") or self.no_wrap:
            return super().wrap(console, width, **options)
        lines = Lines()
        for line in self.split(allow_blank=True):
            for part in line.divide(_breaks(line.plain, width)):
                part.rstrip_end(width)
                lines.append(part)
        return lines


def _breaks(line: str, width: int) -> list[int]:
    """Where a line that is too long is broken."""
    breaks, used = [], 0
    for found in _UNIT.finditer(line):
        unit, start = found.group(), found.start()
        if used and used + cell_len(unit.rstrip()) > width:
            breaks.append(start)
            used = 0
        pieces = [unit] if cell_len(unit.rstrip()) <= width else chop_cells(unit, width)
        for piece in pieces[:-1]:
            start += len(piece)
            breaks.append(start)
        used += cell_len(pieces[-1]) if pieces else 0
    return breaks


def plain(value: object, style: str = "", lines: bool = False) -> Text:
    """Text from outside, made harmless: it cannot move the cursor, colour the screen or turn the writing
    round. Line breaks stay when `lines` says so."""
    if value is None or value == "":
        return Text(NOTHING, style=FAINT)
    shown = str(value).replace("\r\n", "\n").replace("\t", " ")
    shown = shown if lines else shown.replace("\n", " ")
    unseen = {mark for mark in shown if mark in _TURNING or unicodedata.category(mark) in _UNSEEN} - {"\n"}
    return Prose(shown.translate(dict.fromkeys(map(ord, unseen), "\ufffd")), style=style)


def short(value: object, style: str = "") -> Text:
    """The same on one line, cut with an ellipsis where the column is too narrow."""
    text = plain(value, style)
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def local(moment: datetime, zone: tzinfo, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return moment.astimezone(zone).strftime(form)


def age(span: timedelta) -> str:
    """In the largest unit of which there are two."""
    seconds = max(0, int(span.total_seconds()))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def status_text(status: str) -> Text:
    return Text(status, style=STATUS_STYLES.get(status, ""))  # type: ignore[call-overload]


def priority(value: int) -> Text:
    return Text(str(value), style=PRIORITY_STYLES.get(value, ""))


def number(count: int, style: str = "") -> Text:
    return Text(f"{count:,}", style=style) if count else Text(NOTHING, style=FAINT)


def mark(step_status: str) -> Text:
    """One sign for what came of a step."""
    sign, style = STEP_MARKS[StepStatus(step_status)]
    return Text(sign, style=style)


def spaced(word: str) -> str:
    """A word of the vocabulary as it is read: not_found is not found."""
    return word.replace("_", " ")


def faint(text: Text) -> Text:
    """The text in the background, but for what has a colour of its own."""
    return Text("", style=FAINT).append_text(text)


def empty_table(columns: Iterable[Column], caption: Text | None = None, ruled: bool = True) -> Table:
    """The look that all our tables share: bold heads, `ruled` below or not, no frame, two columns of air."""
    return Table(
        *columns,
        box=SIMPLE_HEAD if ruled else None,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1 if ruled else GAP, 0, 0),  # a ruled table puts one more space between columns
        header_style="bold" if ruled else FAINT,
        border_style=FAINT,
        caption=caption,
        caption_justify="left",
    )
