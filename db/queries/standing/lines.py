"""Holding a line: what stands on it is read and changed by one transaction at a time."""

from collections.abc import Iterable
from hashlib import sha256

from sqlalchemy import text
from sqlalchemy.orm import Session

from db.codes import comparable

_CLASS = 0x6C696E65
"""Of PostgreSQL's advisory locks ours have this first number; the second one stands for a line."""
_LOCK = text(
    "SELECT pg_advisory_xact_lock(:class, number) FROM unnest(CAST(:numbers AS integer[])) AS number"
)


def lock_lines(session: Session, names: Iterable[str]) -> None:
    """Hold the lines until the transaction ends. Whoever opens, closes, changes or counts standing alarms and
    floods of a line holds it, and so finds all that the one before did. SQLite has one writer in any case."""
    if session.get_bind().dialect.name == "sqlite":
        return
    # Two lines with one number wait for each other in vain, no more.
    numbers = sorted({_number(comparable(name)) for name in names})
    session.execute(_LOCK, {"class": _CLASS, "numbers": numbers})


def _number(line_key: str) -> int:
    return int.from_bytes(sha256(line_key.encode()).digest()[:4], "big", signed=True)
