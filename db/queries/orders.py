"""Reading work orders, and moving one from status to status."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session, selectinload

from db.codes import comparable
from db.errors import AmbiguousEvent, ForbiddenTransition, NoOrderYet, StatusConflict, UnknownOrder
from db.models import Alarm, StatusChange, WorkOrder
from db.models.order import OrderStatus
from db.queries.rows import changed
from db.queries.shape import fields

TRANSITIONS: dict[OrderStatus, tuple[OrderStatus, ...]] = {
    OrderStatus.WAITING: (OrderStatus.READY, OrderStatus.CANCELLED),
    OrderStatus.READY: (OrderStatus.DISPATCHED, OrderStatus.HELD, OrderStatus.CANCELLED),
    OrderStatus.DISPATCHED: (OrderStatus.RUNNING, OrderStatus.HELD, OrderStatus.CANCELLED),
    OrderStatus.RUNNING: (OrderStatus.HELD, OrderStatus.COMPLETED, OrderStatus.CANCELLED),
    OrderStatus.HELD: (OrderStatus.READY, OrderStatus.RUNNING, OrderStatus.CANCELLED),
    OrderStatus.COMPLETED: (OrderStatus.CLOSED, OrderStatus.RUNNING),
    OrderStatus.CANCELLED: (OrderStatus.CLOSED,),
    OrderStatus.CLOSED: (),
}
"""From each status, where an order may go next."""

ORDER_FIELDS = (
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
    "steps",
    "follow_ups",
    "history",
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
    return [_order(row) for row in session.scalars(query.options(*_everything()))]


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
    """One order whole, by its number or by the event that led to it.

    Raises UnknownOrder; NoOrderYet when the event is known and has no order; AmbiguousEvent when several
    sources sent that event id and `source` does not say which one is meant.
    """
    by_number = select(WorkOrder).where(WorkOrder.order_id == order_or_event_id.upper())
    if source is not None:
        by_number = by_number.where(WorkOrder.source == source)
    order = session.scalar(by_number.options(*_everything()))
    if order is None:
        order = _of_event(session, order_or_event_id, source)
    return _order(order)


def set_status(
    session: Session, order_id: str, status: OrderStatus | str, by: str, note: str, now: datetime
) -> dict[str, Any]:
    """Moves an order on and keeps who, when and why; the order as it then stands.

    Raises UnknownOrder; ForbiddenTransition, which carries what is allowed; StatusConflict when somebody else
    moved the order between the reading and the writing.
    """
    wanted = OrderStatus(status)
    order = session.scalar(select(WorkOrder).where(WorkOrder.order_id == order_id.upper()))
    if order is None:
        raise UnknownOrder(order_id)
    read = order.status
    if wanted not in TRANSITIONS[read]:
        raise ForbiddenTransition(order.order_id, read, wanted, TRANSITIONS[read])
    mine = update(WorkOrder).where(WorkOrder.id == order.id, WorkOrder.status == read)
    if not changed(session, mine.values(status=wanted)):
        raise StatusConflict(order.order_id, read, wanted)
    session.add(
        StatusChange(
            work_order_id=order.id,
            from_status=read.value,
            to_status=wanted.value,
            changed_by=by,
            note=note,
            changed_at=now,
        )
    )
    session.flush()
    session.expire_all()
    return show(session, order.order_id)


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


def alarm_of_event(session: Session, event_id: str, source: str | None) -> Alarm:
    """Raises UnknownOrder, and AmbiguousEvent when several sources sent that event id and none is named."""
    query = select(Alarm).where(Alarm.event_id == event_id).order_by(Alarm.source)
    if source is not None:
        query = query.where(Alarm.source == source)
    alarms = session.scalars(query).all()
    if not alarms:
        raise UnknownOrder(event_id, source)
    if len(alarms) > 1:
        raise AmbiguousEvent(event_id, [alarm.source for alarm in alarms])
    return alarms[0]


def _of_event(session: Session, event_id: str, source: str | None) -> WorkOrder:
    alarm = alarm_of_event(session, event_id, source)
    if alarm.work_order_id is None:
        raise NoOrderYet(event_id, alarm.source, alarm.status)
    return session.scalars(
        select(WorkOrder).where(WorkOrder.id == alarm.work_order_id).options(*_everything())
    ).one()


def _everything() -> list[Any]:
    return [
        selectinload(WorkOrder.steps),
        selectinload(WorkOrder.parts),
        selectinload(WorkOrder.history),
        selectinload(WorkOrder.follow_ups),
    ]


def _order(row: WorkOrder) -> dict[str, Any]:
    order = fields(row, ORDER_FIELDS)
    for name, names in _DETAILS.items():
        order[name] = [fields(detail, names) for detail in order[name]]
    return order
