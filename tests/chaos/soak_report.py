"""The soak as a document: the command, what was struck, the books, the time to an order, and memory."""

import platform
from datetime import UTC, datetime
from statistics import median

import psutil

from tests.chaos.memory import Life
from tests.chaos.soak import Soak
from worker.eval.table import markdown

_MIB = 1024 * 1024


def document(soak: Soak, command: str) -> str:
    cores = psutil.cpu_count()
    place = f"Python {platform.python_version()}, {cores} cores, {datetime.now(UTC):%Y-%m-%d}"
    ended = "everything held" if soak.held else "NOT everything held" if soak.done else "broken off"
    parts = [
        f"# Soak: {soak.minutes:g} minutes of faults at {soak.rate:g} alarms a second, {soak.kind}",
        f"```console\n$ {command}\n```",
        f"{place}: {ended}.",
        _strikes(soak),
        _books(soak),
        _figures(soak),
        "\n".join(f"- {one}" for one in [*soak.notes, *_troubles(soak)]),
    ]
    return "\n\n".join(part for part in parts if part)


def _strikes(soak: Soak) -> str:
    rows = [
        [title, f"{len(seconds)}", f"{median(seconds):.1f}", f"{max(seconds):.1f}"]
        for title, seconds in soak.strikes.items()
    ]
    total = [["all", f"{sum(map(len, soak.strikes.values()))}", "", ""]]
    return markdown(["fault", "times", "seconds to recover, median", "worst"], rows + total)


def _books(soak: Soak) -> str:
    books = soak.books
    rows = {
        "distinct active alarms that the broker confirmed": books.accepted,
        "opened an order": books.orders,
        "attached to one": books.attached,
        "cleared events, stored": books.cleared,
        "lost": len(books.lost),
        "doubled": len(books.doubled),
        "orders that somebody moved on meanwhile": soak.moved,
    }
    return markdown(["books", "number"], [[name, f"{number:,}"] for name, number in rows.items()])


def _figures(soak: Soak) -> str:
    rows = []
    if seconds := soak.latencies_seconds:
        spread = (median(seconds), seconds[int(len(seconds) * 0.99)], seconds[-1])
        rows.append(["seconds from the alarm to its order, outages included", *(f"{s:.1f}" for s in spread)])
    head = ["", "median", "99 of 100", "worst"]
    return "\n\n".join(part for part in (markdown(head, rows) if rows else "", _memory(soak)) if part)


def _memory(soak: Soak) -> str:
    lives = soak.memory.warm() if soak.memory else []
    if not lives:
        return ""
    longest = max(lives, key=lambda life: life.last - life.born)
    rows = [
        [f"the {len(lives)} worker processes, mean", *_mib(lives)],
        [f"the one that lived longest, {(longest.last - longest.born) / 60:.0f} min", *_mib([longest])],
    ]
    return markdown(["memory in MiB (RSS)", "after 20 s", "at its end", "most"], rows)


def _mib(lives: list[Life]) -> list[str]:
    names = ("warm_bytes", "last_bytes", "most_bytes")
    return [f"{sum(getattr(life, name) for life in lives) / len(lives) / _MIB:.0f}" for name in names]


def _troubles(soak: Soak) -> list[str]:
    return [*soak.amiss, *soak.books.lost[:20], *soak.books.doubled[:20], *soak.books.amiss[:20]]
