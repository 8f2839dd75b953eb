"""The attempts at an alarm, each with the account of how it went."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from db.models import AgentRun, Alarm, WorkOrder
from db.queries.orders.events import alarm_of_event, leader_of
from db.queries.shape import fields

RUN_FIELDS = (
    "attempt",
    "owner",
    "started_at",
    "ended_at",
    "outcome",
    "planner",
    "handover_reason",
    "model_calls",
    "input_tokens",
    "output_tokens",
    "error",
    "trace",
)
ALARM_FIELDS = ("event_id", "source", "line_name", "equipment")


def accounts(session: Session, order_or_event_id: str, source: str | None = None) -> dict[str, Any]:
    """The alarm of an order or an event, and each attempt at it with its trace (None: not kept).

    An event that is part of another one's order is led there: the account is the other one's. An alarm that
    has no order yet has its attempts all the same. Raises UnknownOrder and AmbiguousEvent.
    """
    query = (
        select(Alarm)
        .join(WorkOrder, (WorkOrder.source == Alarm.source) & (WorkOrder.event_id == Alarm.event_id))
        .where(WorkOrder.order_id == order_or_event_id.upper())
    )
    if source is not None:
        query = query.where(WorkOrder.source == source)
    alarm = session.scalar(query)
    alarm = alarm or leader_of(session, alarm_of_event(session, order_or_event_id, source))
    order_id = session.scalar(select(WorkOrder.order_id).where(WorkOrder.id == alarm.work_order_id))
    runs = session.scalars(
        select(AgentRun)
        .where(AgentRun.alarm_id == alarm.id)
        .order_by(AgentRun.attempt)
        .options(undefer(AgentRun.trace))
    )
    return {
        "order_id": order_id,
        **fields(alarm, ALARM_FIELDS),
        "fault_code": alarm.code_key,
        "native_code": alarm.fault_code,
        "alarm_status": alarm.status.value,
        "runs": [fields(run, RUN_FIELDS) for run in runs],
    }
