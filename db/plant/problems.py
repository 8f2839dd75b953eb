"""What is wrong in the plant's files, collected, so that a person can mend all of it at once."""

from pathlib import Path

from db.errors import PlantDataError

SAID_AT_MOST = 20
_SHOWN_CHARACTERS = 40


class Problems:
    """Counts all, keeps the first twenty."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._total = 0

    def add(self, file: Path, text: str, line: int | None = None, column: str | None = None) -> None:
        self._total += 1
        if len(self._said) < SAID_AT_MOST:
            place = file.name
            place += f", line {line}" if line is not None else ""
            place += f", column {column}" if column is not None else ""
            self._said.append(f"{place}: {text}")

    def raise_if_any(self) -> None:
        if self._total:
            raise PlantDataError(self._said, self._total)


def shown(value: str) -> str:
    """A value as it is quoted in a problem: short, on one line, nothing in it that a terminal obeys."""
    cut = value if len(value) <= _SHOWN_CHARACTERS else value[: _SHOWN_CHARACTERS - 1] + "…"
    return repr(cut)
