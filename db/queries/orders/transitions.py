"""Moving a work order from status to status, and what then stands on the plant, or stands no longer."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from db.errors import FaultHeld, ForbiddenTransition, StatusConflict, UnknownOrder
from db.models import Alarm, Flood, StandingAlarm, StatusChange, WorkOrder
from db.models.order import ENDED, OrderStatus
from db.models.standing import StandingStatus
from db.queries.orders.reading import show
from db.queries.rows import changed
from db.queries.standing.lines import lock_lines
from db.queries.standing.places import stand_again

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


def set_status(
    session: Session, order_id: str, status: OrderStatus | str, by: str, note: str, now: datetime
) -> dict[str, Any]:
    """Moves an order on and keeps who, when and why; the order as it then stands.

    With an order that ends, its standing alarms and its flood end: what comes of them later is a new fault.
    With an order that is taken up again they stand again.

    Raises UnknownOrder; ForbiddenTransition, which carries what is allowed; StatusConflict when somebody else
    moved the order between the reading and the writing; FaultHeld when the order cannot be taken up again,
    since another one has taken over one of its faults.
    """
    wanted = OrderStatus(status)
    order = session.scalar(select(WorkOrder).where(WorkOrder.order_id == order_id.upper()))
    if order is None:
        raise UnknownOrder(order_id)
    read = order.status
    if wanted not in TRANSITIONS[read]:
        raise ForbiddenTransition(order.order_id, read, wanted, TRANSITIONS[read])
    leader_id = session.scalar(select(Alarm.id).where(Alarm.work_order_id == order.id))
    if leader_id is not None:
        # Before the order's own row: alarms/intake.py has the order.
        lock_lines(session, [order.line_name])
        if wanted in ENDED:
            _end(session, leader_id, now)
        elif read in ENDED:
            _require_free(session, order.order_id, leader_id)
            stand_again(session, leader_id)  # its flood does not: the line has had its peace since
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


def _end(session: Session, leader_id: int, now: datetime) -> None:
    standing = update(StandingAlarm).where(
        StandingAlarm.leader_id == leader_id, StandingAlarm.status == StandingStatus.OPEN
    )
    changed(session, standing.values(status=StandingStatus.CLOSED, closed_at=now))
    flood = update(Flood).where(Flood.leader_id == leader_id, Flood.ended_at.is_(None))
    changed(session, flood.values(ended_at=now))


def _require_free(session: Session, order_id: str, leader_id: int) -> None:
    """Raises FaultHeld when another order stands for one of its faults by now."""
    own = select(StandingAlarm.fingerprint).where(StandingAlarm.leader_id == leader_id)
    newer = (
        select(StandingAlarm, Alarm, WorkOrder.order_id)
        .join(Alarm, Alarm.id == StandingAlarm.leader_id)
        .outerjoin(WorkOrder, WorkOrder.id == Alarm.work_order_id)
        .where(
            StandingAlarm.fingerprint.in_(own),
            StandingAlarm.status == StandingStatus.OPEN,
            StandingAlarm.leader_id != leader_id,
        )
        .order_by(StandingAlarm.id)
    )
    found = session.execute(newer).first()
    if found is not None:
        standing, leader, holder = found
        raise FaultHeld(order_id, _named(standing), holder, leader.event_id, leader.source)


def _named(standing: StandingAlarm) -> str:
    facts: Sequence[str] = (standing.line_name, standing.equipment, standing.code_key)
    return " ".join(fact for fact in facts if fact)
