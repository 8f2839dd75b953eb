"""What the faults came to, as a table for people and as JSON for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tests.chaos.books import Books
from worker.eval.table import markdown

HEAD = [
    *("fault", "database", "times", "alarms", "orders", "attached", "lost", "doubled"),
    *("seconds to recover, median", "worst", "held"),
]


@dataclass
class Row:
    fault: str
    title: str
    database: str
    times: int
    unit: str
    seconds_to_recover: list[float] = field(default_factory=list)
    books: Books = field(default_factory=Books)
    amiss: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    took_seconds: float = 0
    done: bool = False

    @property
    def held(self) -> bool:
        """Whether it was carried out and every target was met."""
        return self.done and self.books.balance and not self.amiss

    def cells(self) -> list[str]:
        books = self.books
        counts = (books.accepted, books.orders, books.attached, len(books.lost), len(books.doubled))
        recovery = self.seconds_to_recover
        seconds = [f"{median(recovery):.1f}", f"{max(recovery):.1f}"] if recovery else ["", ""]
        struck = self.times if self.done else f"{len(recovery)} of {self.times}"
        held = "yes" if self.held else "NO" if self.done else "broken off"
        named = f"{struck} {self.unit}".strip()
        return [self.title, self.database, named, *(f"{count:,}" for count in counts), *seconds, held]

    def remarks(self) -> list[str]:
        return [f"{self.fault} on {self.database}: {one}" for one in self.notes]

    def troubles(self) -> list[str]:
        """What is wrong, in words; the first of each kind."""
        found = [*self.amiss, *self.books.lost[:10], *self.books.doubled[:10], *self.books.amiss[:10]]
        return [f"{self.fault} on {self.database}: {one}" for one in found]

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"held": self.held}


def table(rows: Sequence[Row]) -> str:
    return markdown(HEAD, [row.cells() for row in rows])


def write(rows: Sequence[Row], command: str, file: Path) -> None:
    """As JSON when the file's name ends so, else as Markdown with the command that made it."""
    if file.suffix == ".json":
        text = json.dumps([row.as_json() for row in rows], ensure_ascii=False, indent=1)
    else:
        said = "\n".join(f"- {one}" for row in rows for one in [*row.remarks(), *row.troubles()])
        text = "\n\n".join(part for part in (f"```console\n$ {command}\n```", table(rows), said) if part)
    file.write_text(text + "\n", encoding="utf-8")
