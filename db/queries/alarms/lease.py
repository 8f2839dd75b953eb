"""Holding an alarm: claimed by one attempt at a time, renewed, given back or failed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, case, or_, select, update
from sqlalchemy.orm import Session

from db.models import AgentRun, Alarm
from db.models.alarm import URGENCY, AlarmStatus, RunOutcome
from db.queries.alarms.attempts import POISON_AFTER, at_rest, due, wait
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
    severity: int  # the worst of all that it leads
    message: str
    occurred_at: datetime
    attributes: Mapping[str, Any]

    @property
    def is_poison(self) -> bool:
        """Whether so many attempts came to nothing that a model is not asked any more."""
        return self.failures >= POISON_AFTER


_FACTS = [
    URGENCY if name == "severity" else getattr(Alarm, name) for name in ClaimedAlarm.__dataclass_fields__
]


def claim(
    session: Session, alarm_id: int, owner: str, now: datetime, lease: timedelta
) -> ClaimedAlarm | None:
    """Begin the next attempt at an alarm; None when there is none to make: held, settled, not yet its time.

    One conditional UPDATE, so of any number of claims at once exactly one holds the alarm.
    """
    free = or_(
        due(now),
        Alarm.status == AlarmStatus.DISPATCHED,
        # Whose lapse is one too many has to wait first: the dispatcher sees to that.
        and_(Alarm.status == AlarmStatus.RUNNING, Alarm.lease_until <= now, Alarm.failures < POISON_AFTER),
    )
    lapsed = case((Alarm.status == AlarmStatus.RUNNING, 1), else_=0)
    row = session.execute(
        update(Alarm)
        .where(Alarm.id == alarm_id, free)
        .values(
            fitted(Alarm, lease_owner=owner)
            | _until(now, lease)
            | {
                "status": AlarmStatus.RUNNING,
                "attempt": Alarm.attempt + 1,
                "failures": Alarm.failures + lapsed,
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
    mine = update(Alarm).where(held(alarm_id, attempt), Alarm.lease_until > now)
    return changed(session, mine.values(_until(now, lease))) == 1


def give_back(session: Session, alarm_id: int, attempt: int, now: datetime) -> bool:
    """Let go of an alarm at a clean stop: due again at once, and not counted as a failure."""
    return let_go(session, alarm_id, attempt, now, RunOutcome.GIVEN_BACK) is not None


def fail(session: Session, alarm_id: int, attempt: int, now: datetime, error: str) -> timedelta | None:
    """End an attempt without an order, counted. How long until the alarm is due again; None when this attempt
    no longer holds it. `error` is a type's name."""
    return let_go(session, alarm_id, attempt, now, RunOutcome.FAILED, error=error)


def let_go(
    session: Session, alarm_id: int, attempt: int, now: datetime, outcome: RunOutcome, **values: Any
) -> timedelta | None:
    """End an attempt without an order, if it still holds the alarm; how long until that is due again."""
    mine = held(alarm_id, attempt)
    failures = session.scalar(select(Alarm.failures).where(mine).with_for_update(key_share=True))
    if failures is None:
        return None
    rest = timedelta()
    if outcome is not RunOutcome.GIVEN_BACK:
        failures += 1
        rest = wait(failures, lapsed=outcome is RunOutcome.LAPSED)
    free = {
        "status": AlarmStatus.POISON if failures >= POISON_AFTER else AlarmStatus.WAITING,
        "failures": failures,
        "next_attempt_at": now + rest,
        "lease_owner": None,
        "lease_until": None,
    }
    changed(session, update(Alarm).where(mine).values(free))
    end_run(session, alarm_id, outcome, now, **values)
    return rest


def undispatch(session: Session, alarm_id: int, now: datetime) -> bool:
    """Take back the mark of a task that was not, or will not be, carried out; the alarm is due at once."""
    statement = update(Alarm).where(Alarm.id == alarm_id, Alarm.status == AlarmStatus.DISPATCHED)
    return changed(session, statement.values(status=at_rest(), next_attempt_at=now)) == 1


def held(alarm_id: int, attempt: int) -> ColumnElement[bool]:
    """That the alarm is this attempt's, and no later one has begun or been asked for."""
    return and_(Alarm.id == alarm_id, Alarm.attempt == attempt, Alarm.status == AlarmStatus.RUNNING)


def end_run(session: Session, alarm_id: int, outcome: RunOutcome, now: datetime, **values: Any) -> None:
    """Close the one run of an alarm that is open, if any."""
    statement = update(AgentRun).where(AgentRun.alarm_id == alarm_id, AgentRun.outcome == RunOutcome.RUNNING)
    changed(session, statement.values(outcome=outcome, ended_at=now, **fitted(AgentRun, **values)))


def _until(now: datetime, lease: timedelta) -> dict[str, Any]:
    return {"lease_until": now + lease, "lease_seconds": lease.total_seconds()}
