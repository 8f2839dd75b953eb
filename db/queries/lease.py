"""Holding an alarm: claimed by one attempt at a time, renewed, given back or failed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, case, or_, update
from sqlalchemy.orm import Session

from db.models import AgentRun, Alarm
from db.models.alarm import AlarmStatus, RunOutcome
from db.queries.rows import changed, fitted


@dataclass(frozen=True)
class ClaimedAlarm:
    """An alarm's facts, and the attempt that holds it: the fence of everything it writes."""

    id: int
    attempt: int
    failures: int
    source: str
    event_id: str
    line_name: str
    equipment: str
    equipment_class: str
    fault_code: str  # as the sender has it
    code_key: str  # as it is compared
    severity: int
    message: str
    occurred_at: datetime
    attributes: Mapping[str, Any]


_FACTS = [getattr(Alarm, name) for name in ClaimedAlarm.__dataclass_fields__]


def claim(
    session: Session, alarm_id: int, owner: str, now: datetime, lease: timedelta
) -> ClaimedAlarm | None:
    """Begin the next attempt at an alarm; None when there is none to make: held, settled, not yet its time.

    One conditional UPDATE, so of any number of claims at once exactly one holds the alarm.
    """
    free = or_(
        and_(Alarm.status == AlarmStatus.WAITING, Alarm.next_attempt_at <= now),
        Alarm.status == AlarmStatus.DISPATCHED,
        and_(Alarm.status == AlarmStatus.RUNNING, Alarm.lease_until <= now),
    )
    lapsed = case((Alarm.status == AlarmStatus.RUNNING, 1), else_=0)
    row = session.execute(
        update(Alarm)
        .where(Alarm.id == alarm_id, free)
        .values(
            fitted(Alarm, lease_owner=owner)
            | {
                "status": AlarmStatus.RUNNING,
                "attempt": Alarm.attempt + 1,
                "failures": Alarm.failures + lapsed,
                "lease_until": now + lease,
            }
        )
        .returning(*_FACTS)
        .execution_options(synchronize_session=False)
    ).one_or_none()
    if row is None:
        return None
    claimed = ClaimedAlarm(*row)
    end_run(session, alarm_id, RunOutcome.LAPSED, now)
    session.add(
        AgentRun(
            alarm_id=alarm_id,
            attempt=claimed.attempt,
            started_at=now,
            outcome=RunOutcome.RUNNING,
            **fitted(AgentRun, owner=owner),
        )
    )
    session.flush()
    return claimed


def renew(session: Session, alarm_id: int, attempt: int, now: datetime, lease: timedelta) -> bool:
    """Hold the alarm until `now + lease`; False when this attempt has lost it, which is for good."""
    statement = update(Alarm).where(held(alarm_id, attempt), Alarm.lease_until > now)
    return changed(session, statement.values(lease_until=now + lease)) == 1


def give_back(session: Session, alarm_id: int, attempt: int, now: datetime) -> bool:
    """Let go of an alarm at a clean stop: due again at once, and not counted as a failure."""
    return _let_go(session, alarm_id, attempt, now, RunOutcome.GIVEN_BACK, retry_at=now)


def fail(
    session: Session, alarm_id: int, attempt: int, now: datetime, retry_at: datetime, error: str
) -> bool:
    """End an attempt without an order, counted; due again at `retry_at`. `error` is a type's name."""
    return _let_go(session, alarm_id, attempt, now, RunOutcome.FAILED, retry_at=retry_at, error=error)


def undispatch(session: Session, alarm_id: int, now: datetime) -> bool:
    """Take back the mark of a task that was not, or will not be, carried out; the alarm is due at once."""
    statement = update(Alarm).where(Alarm.id == alarm_id, Alarm.status == AlarmStatus.DISPATCHED)
    return changed(session, statement.values(status=AlarmStatus.WAITING, next_attempt_at=now)) == 1


def held(alarm_id: int, attempt: int) -> ColumnElement[bool]:
    """That the alarm is this attempt's, and no later one has begun or been asked for."""
    return and_(Alarm.id == alarm_id, Alarm.attempt == attempt, Alarm.status == AlarmStatus.RUNNING)


def end_run(session: Session, alarm_id: int, outcome: RunOutcome, now: datetime, **values: Any) -> None:
    """Close the one run of an alarm that is open, if any."""
    statement = update(AgentRun).where(AgentRun.alarm_id == alarm_id, AgentRun.outcome == RunOutcome.RUNNING)
    changed(session, statement.values(outcome=outcome, ended_at=now, **fitted(AgentRun, **values)))


def _let_go(
    session: Session,
    alarm_id: int,
    attempt: int,
    now: datetime,
    outcome: RunOutcome,
    retry_at: datetime,
    **values: Any,
) -> bool:
    """Put the alarm back among the waiting ones, if this attempt still holds it; whether it did."""
    mine = changed(
        session,
        update(Alarm)
        .where(held(alarm_id, attempt))
        .values(
            status=AlarmStatus.WAITING,
            next_attempt_at=retry_at,
            failures=Alarm.failures + (1 if outcome is RunOutcome.FAILED else 0),
            lease_owner=None,
            lease_until=None,
        ),
    )
    if mine:
        end_run(session, alarm_id, outcome, now, **values)
    return mine == 1
