"""The settlement: order, steps, parts, follow-ups and the alarm's end, in one fenced transaction."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import select, text, update
from sqlalchemy.orm import Session

from db.errors import LeaseLost
from db.models import (
    Alarm,
    FollowUp,
    OrderCounter,
    StatusChange,
    Step,
    WorkOrder,
    WorkOrderPart,
    follow_up_order,
)
from db.models.alarm import URGENCY, AlarmStatus, RunOutcome
from db.models.follow_up import FollowUpKind, FollowUpStatus
from db.models.order import OrderStatus, StepName, StepStatus
from db.queries.alarms.lease import end_run, held
from db.queries.rows import changed, fitted, insert, storable
from db.rules import DEFAULT_RULES, Rules


@dataclass(frozen=True)
class StepDraft:
    step: StepName
    status: StepStatus
    subject: str
    arguments: Mapping[str, Any]
    message: str
    calls: int
    suppressed_calls: int
    questions: Sequence[Any]


@dataclass(frozen=True)
class PartDraft:
    number: str
    name: str
    matched_as: str
    score: float
    quantity: int
    unit: str
    location: str
    below_minimum: bool


@dataclass(frozen=True)
class FollowUpDraft:
    """A fact that the order lacks. The open follow-up of the same (kind, step, subject_key) is joined."""

    kind: FollowUpKind
    step: StepName
    subject: str
    subject_key: str
    owner: str
    reason: str


@dataclass(frozen=True)
class OrderDraft:
    """All of an order but what the alarm fixes; `shift` is {"at_alarm": … | None, "at_order": … | None}."""

    diagnosis: str
    actions: Sequence[str]
    causes: Sequence[str]
    safety: Sequence[str]
    assignee: str | None
    shift: Mapping[str, Any] | None
    planner: str
    handover_reason: str | None
    model_calls: int
    input_tokens: int
    output_tokens: int
    steps: Sequence[StepDraft]
    parts: Sequence[PartDraft]
    follow_ups: Sequence[FollowUpDraft]
    diagnosis_flags: Sequence[Mapping[str, str]] = ()


def settle(
    session: Session,
    alarm_id: int,
    attempt: int,
    draft: OrderDraft,
    now: datetime,
    zone: ZoneInfo,
    rules: Rules = DEFAULT_RULES,
) -> str:
    """Write the work order and end the alarm; the order's id. It is as severe as the worst alarm of those
    that this one leads.

    Raises LeaseLost when the attempt does not hold the alarm any more. Called again by the attempt that
    settled it, it returns the same id and writes nothing.
    """
    # First of all: of several settlers, one changes this row, the others wait for it and find it settled.
    alarm = session.execute(
        update(Alarm)
        .where(held(alarm_id, attempt), Alarm.lease_until > now)
        .values(status=AlarmStatus.SETTLED, lease_owner=None, lease_until=None)
        .returning(
            Alarm.event_id,
            Alarm.source,
            Alarm.line_name,
            Alarm.equipment,
            Alarm.code_key.label("fault_code"),
            Alarm.fault_code.label("native_code"),
            URGENCY.label("severity"),
            Alarm.occurred_at,
        )
        .execution_options(synchronize_session=False)
    ).one_or_none()
    if alarm is None:
        return _settled_before(session, alarm_id, attempt)
    plant_date = now.astimezone(zone).date()
    sequence = _next_number(session, plant_date)
    facts = {**alarm._mapping, "priority": rules.priority(alarm.severity)}
    order = _order(draft, facts, plant_date, sequence, now)
    session.add(order)
    session.flush()
    _attach(session, order.id, draft.follow_ups, now)
    changed(session, update(Alarm).where(Alarm.id == alarm_id).values(work_order_id=order.id))
    end_run(
        session,
        alarm_id,
        RunOutcome.SETTLED,
        now,
        planner=draft.planner,
        handover_reason=draft.handover_reason,
        model_calls=draft.model_calls,
        input_tokens=draft.input_tokens,
        output_tokens=draft.output_tokens,
    )
    return order.order_id


def _settled_before(session: Session, alarm_id: int, attempt: int) -> str:
    query = (
        select(WorkOrder.order_id)
        .join(Alarm, Alarm.work_order_id == WorkOrder.id)
        .where(Alarm.id == alarm_id, Alarm.attempt == attempt, Alarm.status == AlarmStatus.SETTLED)
    )
    order_id = session.scalars(query).one_or_none()
    if order_id is None:
        raise LeaseLost(alarm_id, attempt)
    return order_id


def _next_number(session: Session, plant_date: date) -> int:
    """The day's next number. The counter's row stays locked until the commit, and a rollback gives the
    number back: that is what keeps the numbers without a gap."""
    statement = (
        insert(session, OrderCounter)
        .values(plant_date=plant_date, last=1)
        .on_conflict_do_update(index_elements=["plant_date"], set_={"last": OrderCounter.last + 1})
        .returning(OrderCounter.last)
    )
    number: int = session.execute(statement).scalar_one()
    return number


def _order(
    draft: OrderDraft, alarm: dict[str, Any], plant_date: date, sequence: int, now: datetime
) -> WorkOrder:
    own = {name: value for name, value in vars(draft).items() if name not in ("steps", "parts", "follow_ups")}
    return WorkOrder(
        **fitted(WorkOrder, **own),
        **alarm,
        order_id=f"WO-{plant_date:%Y%m%d}-{sequence:04d}",
        plant_date=plant_date,
        sequence=sequence,
        status=OrderStatus.WAITING,
        created_at=now,
        steps=[
            Step(position=position, **fitted(Step, **vars(step)))
            for position, step in enumerate(draft.steps, start=1)
        ],
        parts=[WorkOrderPart(**fitted(WorkOrderPart, **vars(part))) for part in draft.parts],
        history=[
            StatusChange(
                from_status=None,
                to_status=OrderStatus.WAITING,
                note="",
                changed_at=now,
                **fitted(StatusChange, changed_by=draft.planner),
            )
        ],
    )


def _attach(session: Session, order_id: int, drafts: Iterable[FollowUpDraft], now: datetime) -> None:
    """Link the order to the open follow-up of each missing fact, opened here when there is none.

    In one order for all, so that two settlements never wait for each other.
    """
    facts: dict[tuple[str, str, str], FollowUpDraft] = {}
    for draft in drafts:
        facts.setdefault((draft.kind, draft.step, _key(draft.subject_key)), draft)
    for key in sorted(facts):
        values = fitted(FollowUp, **vars(facts[key]) | {"subject_key": key[2]})
        statement = (
            insert(session, FollowUp)
            .values(**values, status=FollowUpStatus.OPEN, opened_at=now)
            .on_conflict_do_update(
                index_elements=["kind", "step", "subject_key"],
                index_where=text("status = 'open'"),
                # Changes nothing, but holds the row: until this order is attached, nobody can close it.
                set_={"status": FollowUpStatus.OPEN},
            )
            .returning(FollowUp.id)
        )
        follow_up_id = session.execute(statement).scalar_one()
        session.execute(follow_up_order.insert().values(follow_up_id=follow_up_id, work_order_id=order_id))


def _key(subject_key: str) -> str:
    """The key as it is stored: one that is too long for its column stays distinct."""
    key: str = storable(subject_key)
    if len(key) <= 300:
        return key
    return f"{key[:235]}~{sha256(key.encode()).hexdigest()}"
