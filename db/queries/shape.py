"""What the reading queries share: a row as plain values, and which numbers can be an id."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from db.models import Base

_LARGEST_ID = 2**63 - 1


def fields(row: Base, names: Iterable[str]) -> dict[str, Any]:
    """A row's named values; words as plain text, times aware and in UTC."""
    values = {name: getattr(row, name) for name in names}
    return {name: value.value if isinstance(value, StrEnum) else value for name, value in values.items()}


def can_be_id(number: int) -> bool:
    """Whether both databases can compare the number with a key; beyond that their drivers raise."""
    return 0 < number <= _LARGEST_ID
