"""Which alarms a task should be sent for now, and how many tasks are under way."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, case, func, or_, select, text, update
from sqlalchemy.orm import Session

from db.models import AgentRun, Alarm
from db.models.alarm import AlarmStatus, RunOutcome
from db.queries.rows import changed

_OPEN = text("alarm.status in ('waiting', 'dispatched', 'running')")
"""Word for word the condition of the index `ix_alarm_open`: neither database would use it otherwise."""


@dataclass(frozen=True)
class DueAlarm:
    id: int
    line_name: str
    fault_code: str
    event_id: str
    severity: int


def take_due(session: Session, room: int, now: datetime, redispatch_after: timedelta) -> list[DueAlarm]:
    """Mark at most `room` alarms as dispatched, the worst severity first, then the oldest, and return them.

    Due are waiting ones whose time has come, dispatched ones whose task seems lost, and running ones whose
    lease has lapsed (that attempt is over then, and counts as a failure). Send their tasks after the commit.
    """
    if room < 1:
        return []
    due = or_(
        and_(Alarm.status == AlarmStatus.WAITING, Alarm.next_attempt_at <= now),
        and_(Alarm.status == AlarmStatus.DISPATCHED, Alarm.dispatched_at <= now - redispatch_after),
        and_(Alarm.status == AlarmStatus.RUNNING, Alarm.lease_until <= now),
    )
    query = (
        select(Alarm.id, Alarm.line_name, Alarm.fault_code, Alarm.event_id, Alarm.severity)
        .where(_OPEN, due)
        .order_by(Alarm.severity.desc(), Alarm.id)
        .limit(room)
        .with_for_update(skip_locked=True)
    )
    taken = [DueAlarm(*row) for row in session.execute(query)]
    if taken:
        ids = [alarm.id for alarm in taken]
        lapsed = case((Alarm.status == AlarmStatus.RUNNING, 1), else_=0)
        changed(
            session,
            update(Alarm)
            .where(Alarm.id.in_(ids))
            .values(
                status=AlarmStatus.DISPATCHED,
                dispatched_at=now,
                failures=Alarm.failures + lapsed,
                lease_owner=None,
                lease_until=None,
            ),
        )
        changed(
            session,
            update(AgentRun)
            .where(AgentRun.alarm_id.in_(ids), AgentRun.outcome == RunOutcome.RUNNING)
            .values(outcome=RunOutcome.LAPSED, ended_at=now),
        )
    return taken


def outstanding(session: Session, now: datetime, redispatch_after: timedelta) -> int:
    """How many alarms have been dispatched whose task may still arrive."""
    query = (
        select(func.count())
        .select_from(Alarm)
        .where(_OPEN, Alarm.status == AlarmStatus.DISPATCHED, Alarm.dispatched_at > now - redispatch_after)
    )
    return session.scalars(query).one()
