"""Reading work orders."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, selectinload

from db.codes import comparable
from db.models import WorkOrder
from db.models.order import OrderStatus
from db.queries.orders.events import order_of_event
from db.queries.shape import fields
from db.queries.standing.occurrences import OCCURRENCE_FIELDS, occurrences

_ROW_FIELDS = (
    "order_id",
    "event_id",
    "source",
    "line_name",
    "equipment",
    "fault_code",
    "native_code",
    "severity",
    "priority",
    "status",
    "diagnosis",
    "actions",
    "diagnosis_flags",
    "causes",
    "safety",
    "assignee",
    "shift",
    "parts",
    "planner",
    "handover_reason",
    "model_calls",
    "input_tokens",
    "output_tokens",
    "occurred_at",
    "created_at",
)
STEP_FIELDS = (
    "step",
    "status",
    "subject",
    "arguments",
    "message",
    "calls",
    "suppressed_calls",
    "questions",
)
PART_FIELDS = ("number", "name", "matched_as", "score", "quantity", "unit", "location", "below_minimum")
FOLLOW_UP_FIELDS = ("id", "kind", "step", "subject", "status", "owner", "reason", "opened_at")
CHANGE_FIELDS = ("from_status", "to_status", "changed_by", "note", "changed_at")

_DETAILS = {
    "parts": PART_FIELDS,
    "steps": STEP_FIELDS,
    "follow_ups": FOLLOW_UP_FIELDS,
    "history": CHANGE_FIELDS,
}
ORDER_FIELDS = (*_ROW_FIELDS, *OCCURRENCE_FIELDS, "steps", "follow_ups", "history")
"""An order as `show` and `list` give it."""


def list_orders(
    session: Session,
    line: str | None = None,
    status: OrderStatus | str | None = None,
    since: datetime | None = None,
    planner: str | None = None,
    limit: int | None = None,
) -> list[dict[str, Any]]:
    """The newest orders first, each in the shape that `show` gives."""
    wanted = _wanted(session, line, status, since, planner)
    query = select(WorkOrder).where(*wanted).order_by(WorkOrder.created_at.desc(), WorkOrder.id.desc())
    if limit is not None:
        query = query.limit(limit)
    return _orders(session, session.scalars(query.options(*_everything())).all())


def count_orders(
    session: Session,
    line: str | None = None,
    status: OrderStatus | str | None = None,
    since: datetime | None = None,
    planner: str | None = None,
) -> int:
    """How many orders `list_orders` would find without a limit."""
    wanted = _wanted(session, line, status, since, planner)
    return session.scalar(select(func.count()).select_from(WorkOrder).where(*wanted)) or 0


def lines(session: Session) -> list[str]:
    """The lines that have work orders."""
    return list(session.scalars(select(WorkOrder.line_name).distinct().order_by(WorkOrder.line_name)))


def show(session: Session, order_or_event_id: str, source: str | None = None) -> dict[str, Any]:
    """One order whole, by its number or by an event that opened it or is part of it.

    Raises UnknownOrder; NoOrderYet when the event is known and has no order; AmbiguousEvent when several
    sources sent that event id and `source` does not say which one is meant.
    """
    by_number = select(WorkOrder).where(WorkOrder.order_id == order_or_event_id.upper())
    if source is not None:
        by_number = by_number.where(WorkOrder.source == source)
    order = session.scalar(by_number.options(*_everything()))
    if order is None:
        row_id = order_of_event(session, order_or_event_id, source)
        order = session.scalars(select(WorkOrder).where(WorkOrder.id == row_id).options(*_everything())).one()
    [shown] = _orders(session, [order])
    return shown


def _wanted(
    session: Session,
    line: str | None,
    status: OrderStatus | str | None,
    since: datetime | None,
    planner: str | None,
) -> Iterable[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = []
    if line is not None:  # 交互屏组装a线 and fullwidth letters find the line as well
        alike = [name for name in lines(session) if comparable(name) == comparable(line)]
        wanted.append(WorkOrder.line_name.in_([line] if line in alike else alike))
    if status is not None:
        wanted.append(WorkOrder.status == OrderStatus(status))
    if since is not None:
        wanted.append(WorkOrder.created_at >= since)
    if planner is not None:
        wanted.append(WorkOrder.planner == planner)
    return wanted


def _everything() -> list[Any]:
    return [
        selectinload(WorkOrder.steps),
        selectinload(WorkOrder.parts),
        selectinload(WorkOrder.history),
        selectinload(WorkOrder.follow_ups),
    ]


def _orders(session: Session, rows: Sequence[WorkOrder]) -> list[dict[str, Any]]:
    behind = occurrences(session, rows)
    return [_order(row, behind[row.id]) for row in rows]


def _order(row: WorkOrder, behind: dict[str, Any]) -> dict[str, Any]:
    details = {
        name: [fields(detail, names) for detail in getattr(row, name)] for name, names in _DETAILS.items()
    }
    values = fields(row, _ROW_FIELDS) | behind | details
    return {name: values[name] for name in ORDER_FIELDS}
