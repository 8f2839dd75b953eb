"""Dates and times as they may be written in a roster.

A date is `2026-08-04` or `2026/8/4`, or counted from the day on which the file is loaded: `today`,
`today+3`, `today-1`. Two of them make a range, both ends in it: `today-2..today+14`. A time is `08:00`;
a shift may end at `24:00`, which is midnight.
"""

import re
import unicodedata
from datetime import date, time, timedelta

MAX_RANGE_DAYS = 366
_FIRST_YEAR, _LAST_YEAR = 1970, 2199  # beyond them zone arithmetic may leave the calendar

_DATE = re.compile(r"([0-9]{4})([-/])([0-9]{1,2})\2([0-9]{1,2})")
_RELATIVE = re.compile(r"today(?:\s*([+-])\s*([0-9]{1,4}))?")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")


def dates(text: str, today: date) -> list[date]:
    """The date, or all dates of the range. A ValueError says what is wrong and what is wanted."""
    first, dots, last = _plain(text).partition("..")
    start = _date(first.strip(), today)
    if not dots:
        return [start]
    end = _date(last.strip(), today)
    days = (end - start).days + 1
    if days < 1:
        raise ValueError("is a range that ends before it begins")
    if days > MAX_RANGE_DAYS:
        raise ValueError(f"is a range of {days} days; at most {MAX_RANGE_DAYS} are taken")
    return [start + timedelta(days=offset) for offset in range(days)]


def start_time(text: str) -> time:
    found = _TIME.fullmatch(_plain(text))
    try:
        if found is None:
            raise ValueError
        return time(int(found[1]), int(found[2]), int(found[3] or 0))
    except ValueError:
        raise ValueError("is not a time; wants hours and minutes such as 08:00") from None


def end_time(text: str) -> time:
    return time(0) if _plain(text) in ("24:00", "24:00:00") else start_time(text)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\u2212", "-").strip().lower()


def _date(text: str, today: date) -> date:
    try:
        if absolute := _DATE.fullmatch(text):
            found = date(int(absolute[1]), int(absolute[3]), int(absolute[4]))
        elif relative := _RELATIVE.fullmatch(text):
            days = int(relative[2] or 0)
            found = today + timedelta(days=-days if relative[1] == "-" else days)
        else:
            raise ValueError
        if not _FIRST_YEAR <= found.year <= _LAST_YEAR:
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError(
            "is not a date; wants 2026-08-04, today, today+3, or a range such as today-2..today+14"
        ) from None
    return found
