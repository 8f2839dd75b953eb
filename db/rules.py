"""What a plant says of its alarms: how severe is how urgent, what is a repeat, what is a flood."""

import re
from dataclasses import dataclass
from datetime import timedelta

LARGEST_FLOOD = 10_000
LONGEST_FLOOD = timedelta(days=1)

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours"}


@dataclass(frozen=True)
class FloodLimit:
    """A line with `alarms` new ones in `window` raises more than anybody can follow."""

    alarms: int
    window: timedelta

    @classmethod
    def parse(cls, text: str) -> "FloodLimit | None":
        """`10/10m` is ten in ten minutes; None for `off`. Raises ValueError, which says what is wanted."""
        text = text.strip().lower()
        if text == "off":
            return None
        if match := re.fullmatch(r"([0-9]{1,5}) */ *([0-9]{1,5}) *([smh])", text):
            limit = cls(int(match[1]), timedelta(**{_UNITS[match[3]]: int(match[2])}))
            if 1 <= limit.alarms <= LARGEST_FLOOD and timedelta(0) < limit.window <= LONGEST_FLOOD:
                return limit
        raise ValueError(
            "wants off, or so many new alarms of a line in such a time, such as 10/10m "
            f"(up to {LARGEST_FLOOD}, in s, m or h, at most a day)"
        )

    def __str__(self) -> str:
        seconds = int(self.window.total_seconds())
        unit = "h" if seconds % 3600 == 0 else "m" if seconds % 60 == 0 else "s"
        return f"{self.alarms}/{seconds // {'h': 3600, 'm': 60, 's': 1}[unit]}{unit}"


@dataclass(frozen=True)
class Rules:
    """By these an alarm's place is found when it comes in, and its priority whenever it gets worse."""

    priority_severities: tuple[int, int, int] = (800, 600, 300)
    repeat_window: timedelta = timedelta(hours=8)  # 0: nothing is a repeat
    flood_limit: FloodLimit | None = None

    def priority(self, severity: int) -> int:
        """Priority 1 (now) to 4, by the plant's table of severities."""
        return 1 + sum(severity < least for least in self.priority_severities)


DEFAULT_RULES = Rules()
