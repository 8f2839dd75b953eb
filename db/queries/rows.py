"""What the writing queries share: one upsert for both databases, counted updates, values that fit."""

import math
from enum import Enum
from typing import Any

from sqlalchemy import CursorResult, String, Table, Update, inspect
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from db.models import Base

DEEPEST = 40
"""No value that we store is nested deeper; what a model sends may be."""


def insert(session: Session, table: type[Base] | Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that knows ON CONFLICT, which SQLAlchemy spells once for each database."""
    if session.get_bind().dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)


def changed(session: Session, statement: Update) -> int:
    """Run an UPDATE; how many rows it changed."""
    result = session.execute(statement.execution_options(synchronize_session=False))
    assert isinstance(result, CursorResult)
    return result.rowcount


def fitted(model: type[Base], **values: Any) -> dict[str, Any]:
    """The values as both databases take them, text cut to its column's length.

    PostgreSQL refuses what SQLite keeps (a NUL, a longer text, NaN in JSON). A word of a model's must not
    undo the order that it stands on, at each attempt again.
    """
    columns = inspect(model).columns
    result = {}
    for name, value in values.items():
        clean = storable(value)
        kind = columns[name].type
        if type(clean) is str and isinstance(kind, String) and kind.length is not None:
            clean = clean[: kind.length]
        result[name] = clean
    return result


def storable(value: Any, depth: int = 0) -> Any:
    """The value without NUL, lone surrogates, numbers that are none, and nesting without end."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict | list | tuple) and depth == DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {_text(str(key)): storable(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [storable(inner, depth + 1) for inner in value]
    return value


def _text(value: str) -> str:
    value = value.replace("\0", "\ufffd")
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
