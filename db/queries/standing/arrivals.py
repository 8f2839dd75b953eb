"""An alarm that has been stored and wants its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from db.models import Alarm


@dataclass(frozen=True)
class Arrival:
    """What an alarm's row says of it, as far as its place depends on it."""

    id: int
    source: str
    event_id: str
    fingerprint: str
    line_name: str
    equipment: str
    fault_code: str
    code_key: str
    severity: int
    state: str
    occurred_at: datetime


ARRIVAL = [getattr(Alarm, name) for name in Arrival.__dataclass_fields__]
"""Its columns, in its order."""


def is_historical(attributes: Mapping[str, Any]) -> bool:
    """Whether the event said so, as the stored alarm has it."""
    return attributes.get("historical") is True
