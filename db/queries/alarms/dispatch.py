"""Which alarms a task should be sent for now, and how many tasks are under way."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.orm import Session

from db.models import Alarm
from db.models.alarm import URGENCY, AlarmStatus, RunOutcome
from db.queries.alarms import lease
from db.queries.alarms.attempts import CLOCKS_DIFFER, STILL_OPEN, due
from db.queries.rows import changed

_TURN = 0x7475726E
"""The number of PostgreSQL's advisory lock, which reads "turn"; nothing else in the database may use it."""
_LONGEST_TURN_SECONDS = 5


@dataclass(frozen=True)
class DueAlarm:
    id: int
    line_name: str
    fault_code: str
    event_id: str
    severity: int  # the worst of all that it leads


def my_turn(session: Session) -> bool:
    """Whether no other dispatcher is at it, until this transaction ends: two that count what is outstanding
    at the same time would each fill the room."""
    if session.get_bind().dialect.name == "sqlite":  # one writer at a time in any case
        return True
    # A process that is stopped, or a machine that is gone, must not keep all the others waiting.
    limit = func.set_config("idle_in_transaction_session_timeout", f"{_LONGEST_TURN_SECONDS}s", True)
    _, mine = session.execute(select(limit, func.pg_try_advisory_xact_lock(_TURN))).one()
    return bool(mine)


def look_ahead(session: Session, room: int, now: datetime, redispatch_after: timedelta) -> list[int]:
    """The ids of what `take_due` would take now. It goes through the whole backlog, so it is done before the
    transaction that writes: meanwhile nobody else could write to SQLite."""
    if room < 1:
        return []
    lapsed = and_(Alarm.status == AlarmStatus.RUNNING, Alarm.lease_until <= now)
    query = select(Alarm.id).where(STILL_OPEN, or_(_to_be_sent(now, redispatch_after), lapsed))
    return list(session.scalars(query.order_by(URGENCY.desc(), Alarm.id).limit(room)))


def take_due(
    session: Session,
    room: int,
    now: datetime,
    redispatch_after: timedelta,
    among: Sequence[int] | None = None,
) -> list[DueAlarm]:
    """Mark at most `room` alarms as dispatched, the worst severity first, then the oldest, and return them;
    of those `among` which it is to choose, else of all.

    Due are those at rest whose time has come, and dispatched ones whose task seems lost. Attempts whose lease
    has lapsed are ended first, counted as failures. Send the tasks after the commit.
    """
    _end_lapsed(session, now)
    if room < 1:
        return []
    query = (
        select(Alarm.id, Alarm.line_name, Alarm.fault_code, Alarm.event_id, URGENCY)
        .where(STILL_OPEN if among is None else Alarm.id.in_(among), _to_be_sent(now, redispatch_after))
        .order_by(URGENCY.desc(), Alarm.id)
        .limit(room)
        # Rows that refer to the alarm may be written meanwhile: its occurrences.
        .with_for_update(skip_locked=True, key_share=True)
    )
    taken = [DueAlarm(*row) for row in session.execute(query)]
    if taken:
        mine = update(Alarm).where(Alarm.id.in_([alarm.id for alarm in taken]))
        changed(session, mine.values(status=AlarmStatus.DISPATCHED, dispatched_at=now))
    return taken


def outstanding(session: Session, now: datetime, redispatch_after: timedelta) -> int:
    """How many alarms have been dispatched whose task may still arrive."""
    fresh = and_(Alarm.dispatched_at > now - redispatch_after, Alarm.dispatched_at <= now + CLOCKS_DIFFER)
    query = (
        select(func.count())
        .select_from(Alarm)
        .where(STILL_OPEN, Alarm.status == AlarmStatus.DISPATCHED, fresh)
    )
    return session.scalars(query).one()


def _to_be_sent(now: datetime, redispatch_after: timedelta) -> ColumnElement[bool]:
    lost = or_(Alarm.dispatched_at <= now - redispatch_after, Alarm.dispatched_at > now + CLOCKS_DIFFER)
    return or_(due(now), and_(Alarm.status == AlarmStatus.DISPATCHED, lost))


def _end_lapsed(session: Session, now: datetime) -> None:
    """End the attempts whose time is over: their worker died, hangs, or was cut off."""
    over = or_(Alarm.lease_until <= now, Alarm.lease_until > now + CLOCKS_DIFFER)
    query = select(Alarm.id, Alarm.attempt, Alarm.lease_until, Alarm.lease_seconds)
    running = session.execute(query.where(STILL_OPEN, Alarm.status == AlarmStatus.RUNNING, over)).all()
    for alarm_id, attempt, until, seconds in running:
        if not _has_lapsed(until, seconds, now):
            continue
        unchanged = select(Alarm.id).where(lease.held(alarm_id, attempt), Alarm.lease_until == until)
        # Who renews, settles or gives back at this moment is alive.
        if session.scalar(unchanged.with_for_update(skip_locked=True, key_share=True)) is not None:
            lease.let_go(session, alarm_id, attempt, now, RunOutcome.LAPSED)


def _has_lapsed(until: datetime | None, seconds: float | None, now: datetime) -> bool:
    """A lease that ends far later than one given now is older than it looks: a clock was set back."""
    if until is None or until <= now:
        return True
    return seconds is not None and until > now + timedelta(seconds=seconds) + CLOCKS_DIFFER
