"""Alarms whose attempts came to nothing: looking at them, and giving the model another go at them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import case, select, update
from sqlalchemy.orm import Session

from db.errors import NotPoison, UnknownAlarm
from db.models import AgentRun, Alarm
from db.models.alarm import URGENCY, AlarmStatus, RunOutcome
from db.queries.alarms.attempts import POISON_AFTER, STILL_OPEN
from db.queries.rows import changed, fitted
from db.queries.shape import can_be_id, fields

ALARM_FIELDS = (
    "id",
    "event_id",
    "source",
    "line_name",
    "equipment",
    "status",
    "failures",
    "next_attempt_at",
    "received_at",
)


def list_poison(session: Session, limit: int | None = None) -> list[dict[str, Any]]:
    """Those that are still without an order, the worst first, then the oldest. `last_error` is a type's name,
    or `lapsed`: its worker died, hung or was cut off. Its status says whether one is tried at the moment."""
    ended = (RunOutcome.FAILED, RunOutcome.LAPSED)
    last_error = (
        select(case((AgentRun.outcome == RunOutcome.LAPSED, RunOutcome.LAPSED.value), else_=AgentRun.error))
        .where(AgentRun.alarm_id == Alarm.id, AgentRun.outcome.in_(ended))
        .order_by(AgentRun.attempt.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = (
        select(Alarm, URGENCY, last_error)
        .where(STILL_OPEN, Alarm.failures >= POISON_AFTER)
        .order_by(URGENCY.desc(), Alarm.id)
        .limit(limit)
    )
    return [
        fields(alarm, ALARM_FIELDS)
        | {"fault_code": alarm.code_key, "native_code": alarm.fault_code}
        | {"severity": severity, "last_error": error}
        for alarm, severity, error in session.execute(query)
    ]


def retry_poison(session: Session, alarm_ids: Iterable[int], by: str, now: datetime) -> list[dict[str, Any]]:
    """Put all of them back as if they had never been tried: due at once, planned by the model. The history of
    each says who did it, as an attempt of its own: a task that is under way for it does no harm.

    Raises UnknownAlarm and NotPoison; then none of them is changed.
    """
    retried = []
    for alarm_id in sorted(set(alarm_ids)):
        if not can_be_id(alarm_id):
            raise UnknownAlarm(alarm_id)
        query = select(Alarm).where(Alarm.id == alarm_id).with_for_update(key_share=True)
        alarm = session.scalars(query).one_or_none()
        if alarm is None:
            raise UnknownAlarm(alarm_id)
        if why := _why_not(alarm):
            raise NotPoison(alarm_id, why)
        _put_back(session, alarm, by, now)
        retried.append(fields(alarm, ALARM_FIELDS) | {"fault_code": alarm.code_key})
    return retried


def _why_not(alarm: Alarm) -> str | None:
    if alarm.status is AlarmStatus.RUNNING:
        return "is tried at this moment; look again when that attempt has ended"
    if alarm.status not in (AlarmStatus.POISON, AlarmStatus.WAITING, AlarmStatus.DISPATCHED):
        return f"is {alarm.status}: no attempt at it is wanted any more"
    if alarm.failures < POISON_AFTER:
        return f"is not poison: {alarm.failures} attempts at it came to nothing, and the model goes on trying"
    return None


def _put_back(session: Session, alarm: Alarm, by: str, now: datetime) -> None:
    attempt = alarm.attempt + 1
    told = f"put back by {by}: its {alarm.failures} failures count no more, and the model has another go"
    session.add(
        AgentRun(
            alarm_id=alarm.id,
            attempt=attempt,
            started_at=now,
            ended_at=now,
            outcome=RunOutcome.GIVEN_BACK,
            **fitted(AgentRun, owner=by, trace=[{"kind": "end", "outcome": told}]),
        )
    )
    mine = update(Alarm).where(Alarm.id == alarm.id)
    free = {"status": AlarmStatus.WAITING, "failures": 0, "next_attempt_at": now, "attempt": attempt}
    changed(session, mine.values(free))
