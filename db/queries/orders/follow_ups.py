"""Reading the facts that a person must supply, and closing them."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from db.errors import FollowUpClosed, UnknownFollowUp
from db.models import FollowUp, WorkOrder, follow_up_order
from db.models.follow_up import FollowUpStatus
from db.models.order import StepName
from db.queries.orders.reading import FOLLOW_UP_FIELDS
from db.queries.rows import changed
from db.queries.shape import can_be_id, fields

CLOSED_FIELDS = ("closed_at", "closed_by", "note")


def list_follow_ups(
    session: Session, open_only: bool = False, step: StepName | str | None = None
) -> list[dict[str, Any]]:
    """Open ones first, the longest open on top; `order_ids` names the orders that lack the fact."""
    wanted: list[ColumnElement[bool]] = []
    if open_only:
        wanted.append(FollowUp.status == FollowUpStatus.OPEN)
    if step is not None:
        wanted.append(FollowUp.step == StepName(step).value)
    rows = session.scalars(
        select(FollowUp)
        .where(*wanted)
        .order_by(FollowUp.status != FollowUpStatus.OPEN, FollowUp.opened_at, FollowUp.id)
    ).all()
    return _with_orders(session, rows, wanted)


def close(
    session: Session, follow_up_id: int, status: FollowUpStatus | str, by: str, note: str, now: datetime
) -> dict[str, Any]:
    """Resolves or dismisses an open follow-up; the follow-up as it then stands.

    Raises UnknownFollowUp, or FollowUpClosed when it is not open, or not any more.
    """
    wanted = FollowUpStatus(status)
    if wanted is FollowUpStatus.OPEN:
        raise ValueError("a follow-up is closed as resolved or as dismissed")
    if not can_be_id(follow_up_id):
        raise UnknownFollowUp(follow_up_id)
    open_one = update(FollowUp).where(FollowUp.id == follow_up_id, FollowUp.status == FollowUpStatus.OPEN)
    closed = changed(session, open_one.values(status=wanted, closed_at=now, closed_by=by, note=note))
    row = session.get(FollowUp, follow_up_id, populate_existing=True)
    if row is None:
        raise UnknownFollowUp(follow_up_id)
    if not closed:
        raise FollowUpClosed(follow_up_id, row.status)
    [follow_up] = _with_orders(session, [row], [FollowUp.id == follow_up_id])
    return follow_up


def _with_orders(
    session: Session, rows: Iterable[FollowUp], wanted: Iterable[ColumnElement[bool]]
) -> list[dict[str, Any]]:
    order_ids: dict[int, list[str]] = defaultdict(list)
    linked = (
        select(follow_up_order.c.follow_up_id, WorkOrder.order_id)
        .join(WorkOrder, WorkOrder.id == follow_up_order.c.work_order_id)
        .join(FollowUp, FollowUp.id == follow_up_order.c.follow_up_id)
        .where(*wanted)
        .order_by(WorkOrder.id)
    )
    for follow_up_id, order_id in session.execute(linked):
        order_ids[follow_up_id].append(order_id)
    names = (*FOLLOW_UP_FIELDS, *CLOSED_FIELDS)
    return [fields(row, names) | {"order_ids": order_ids.get(row.id, [])} for row in rows]
