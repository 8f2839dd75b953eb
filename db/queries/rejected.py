"""Reading the stream entries that could not become alarms."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from db.errors import UnknownRejectedAlarm
from db.models import RejectedAlarm
from db.queries.shape import can_be_id, fields

REJECTED_FIELDS = ("id", "entry_id", "reason", "detail", "raw_bytes", "received_at")


def list_rejected(session: Session, limit: int | None = None) -> list[dict[str, Any]]:
    """The newest first, without their bytes; `raw_bytes` is how many came."""
    query = select(RejectedAlarm).options(defer(RejectedAlarm.raw)).order_by(RejectedAlarm.id.desc())
    if limit is not None:
        query = query.limit(limit)
    return [fields(row, REJECTED_FIELDS) for row in session.scalars(query)]


def show_rejected(session: Session, rejected_id: int) -> dict[str, Any]:
    """One entry with its bytes as `raw` (the first 64 KiB of them). Raises UnknownRejectedAlarm."""
    row = session.get(RejectedAlarm, rejected_id) if can_be_id(rejected_id) else None
    if row is None:
        raise UnknownRejectedAlarm(rejected_id)
    return fields(row, (*REJECTED_FIELDS, "raw", "raw_digest"))
