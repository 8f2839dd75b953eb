"""An order gets worse with the worst of the alarms that belong to it, and its history says so."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from db.models import Alarm, StatusChange, WorkOrder
from db.models.alarm import URGENCY
from db.queries.rows import fitted
from db.queries.standing.arrivals import Arrival
from db.rules import Rules


def raise_urgency(session: Session, worse: Mapping[int, Arrival], now: datetime, rules: Rules) -> None:
    """Raise each leader to the severity of an alarm that belongs to it, where that is worse; and its order,
    where that stands. Who settles the leader at this moment does so before or after, never in between."""
    orders: dict[int, Arrival] = {}
    for leader_id, alarm in sorted(worse.items()):
        leader = (
            update(Alarm)
            .where(Alarm.id == leader_id, alarm.severity > URGENCY)
            .values(urgency=alarm.severity)
            .returning(Alarm.work_order_id)
            .execution_options(synchronize_session=False)
        )
        order_id = session.execute(leader).scalar_one_or_none()
        if order_id is not None:
            orders[order_id] = alarm
    for order_id, alarm in sorted(orders.items()):
        _raise_order(session, order_id, alarm, now, rules)


def _raise_order(session: Session, order_id: int, alarm: Arrival, now: datetime, rules: Rules) -> None:
    order = session.scalars(
        select(WorkOrder)
        .where(WorkOrder.id == order_id, WorkOrder.severity < alarm.severity)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    ).one_or_none()
    if order is None:
        return
    changes = [f"severity {order.severity} -> {alarm.severity}"]
    priority = min(order.priority, rules.priority(alarm.severity))
    if priority != order.priority:
        changes.append(f"priority {order.priority} -> {priority}")
    order.severity, order.priority = alarm.severity, priority
    note = f"{', '.join(changes)} (event {alarm.event_id})"
    session.add(
        StatusChange(
            work_order_id=order_id,
            from_status=order.status,
            to_status=order.status,
            changed_at=now,
            **fitted(StatusChange, changed_by=alarm.source, note=note),
        )
    )
    session.flush()
