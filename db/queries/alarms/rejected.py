"""What could not become an alarm: looked at, and closed by a person once it is dealt with."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session, defer

from db.errors import RejectedAlarmClosed, UnknownRejectedAlarm
from db.models import RejectedAlarm
from db.models.alarm import RejectedStatus, RejectReason
from db.queries.rows import changed, fitted
from db.queries.shape import can_be_id, fields

REJECTED_FIELDS = (
    "id",
    "entry_id",
    "reason",
    "detail",
    "raw_bytes",
    "received_at",
    "status",
    "closed_at",
    "closed_by",
)


def list_rejected(
    session: Session, limit: int | None = None, open_only: bool = False, reason: str | None = None
) -> list[dict[str, Any]]:
    """The newest first, without their bytes; `raw_bytes` is how many came."""
    query = select(RejectedAlarm).options(defer(RejectedAlarm.raw)).where(*_wanted(open_only, reason))
    query = query.order_by(RejectedAlarm.id.desc())
    if limit is not None:
        query = query.limit(limit)
    return [fields(row, REJECTED_FIELDS) for row in session.scalars(query)]


def count_rejected(session: Session, open_only: bool = False, reason: str | None = None) -> int:
    return session.scalars(select(func.count(RejectedAlarm.id)).where(*_wanted(open_only, reason))).one()


def open_ids(session: Session, reason: str | None = None) -> list[int]:
    """Of those that are open, the oldest first."""
    query = select(RejectedAlarm.id).where(*_wanted(True, reason)).order_by(RejectedAlarm.id)
    return list(session.scalars(query))


def show_rejected(session: Session, rejected_id: int) -> dict[str, Any]:
    """One entry with its bytes as `raw` (the first 64 KiB of them). Raises UnknownRejectedAlarm."""
    return fields(_row(session, rejected_id), (*REJECTED_FIELDS, "raw", "raw_digest"))


def close(
    session: Session, rejected_id: int, status: RejectedStatus, by: str, now: datetime, why: str = ""
) -> None:
    """Mark an open one as retried or dropped; its bytes stay, and `why` is added to its detail.

    Raises UnknownRejectedAlarm, or RejectedAlarmClosed when it is not open, or not any more.
    """
    row = _row(session, rejected_id)
    detail = f"{row.detail}; {status}: {why}" if why else row.detail
    open_one = update(RejectedAlarm).where(
        RejectedAlarm.id == rejected_id, RejectedAlarm.status == RejectedStatus.OPEN
    )
    values = fitted(RejectedAlarm, closed_by=by, detail=detail) | {"status": status, "closed_at": now}
    if not changed(session, open_one.values(values)):
        session.refresh(row)
        raise RejectedAlarmClosed(rejected_id, row.status, row.closed_by)


def _wanted(open_only: bool, reason: str | None) -> list[ColumnElement[bool]]:
    wanted = []
    if open_only:
        wanted.append(RejectedAlarm.status == RejectedStatus.OPEN)
    if reason is not None:
        wanted.append(RejectedAlarm.reason == RejectReason(reason))
    return wanted


def _row(session: Session, rejected_id: int) -> RejectedAlarm:
    row = session.get(RejectedAlarm, rejected_id) if can_be_id(rejected_id) else None
    if row is None:
        raise UnknownRejectedAlarm(rejected_id)
    return row
