"""Alarms of a shelved fingerprint: kept back while it is shelved, given their places when that ends."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.orm import Session

from db.models import Alarm, Shelving, StandingAlarm
from db.models.alarm import AlarmState, AlarmStatus
from db.models.standing import StandingStatus
from db.queries.rows import changed
from db.queries.standing.arrivals import ARRIVAL, Arrival, is_historical
from db.queries.standing.lines import lock_lines
from db.queries.standing.places import admit
from db.queries.standing.urgency import raise_urgency
from db.rules import Rules


def lasting(now: datetime) -> ColumnElement[bool]:
    """That a shelving keeps alarms back: its time is not over, and nobody has said that it is to end."""
    return and_(Shelving.ended_at.is_(None), Shelving.ended_by.is_(None), Shelving.until > now)


def keep_back(session: Session, arrivals: Sequence[Arrival], now: datetime) -> list[Arrival]:
    """Mark the alarms whose fingerprint is shelved; the others, and whatever clears."""
    fingerprints = {each.fingerprint for each in arrivals if each.state != AlarmState.CLEARED}
    if not fingerprints:
        return list(arrivals)
    # Shared, so that a shelving does not end before the alarms that it keeps back can be seen.
    query = (
        select(Shelving.fingerprint, Shelving.id)
        .where(Shelving.fingerprint.in_(fingerprints), lasting(now))
        .order_by(Shelving.id)
        .with_for_update(read=True)
    )
    shelved = {shelving.fingerprint: shelving.id for shelving in session.execute(query)}
    kept = [each for each in arrivals if each.fingerprint in shelved and each.state != AlarmState.CLEARED]
    if kept:
        changes = [
            {"id": each.id, "status": AlarmStatus.SHELVED, "shelving_id": shelved[each.fingerprint]}
            for each in kept
        ]
        session.execute(update(Alarm), changes)
    marked = {each.id for each in kept}
    return [each for each in arrivals if each.id not in marked]


def any_over(session: Session, now: datetime) -> bool:
    """Whether `release` would release any."""
    return session.scalars(select(Shelving.id).where(_over(now)).limit(1)).first() is not None


def release(session: Session, now: datetime, rules: Rules) -> int:
    """End the shelvings that are over; how many it were.

    If a fault has not been cleared since, the newest alarm that was kept back of it gets its place now, and
    the older ones go where that one goes; else they all stay as they are.
    """
    over = select(Shelving).where(_over(now)).order_by(Shelving.id).with_for_update()
    shelvings = session.scalars(over.execution_options(populate_existing=True)).all()
    lock_lines(session, [shelving.line_name for shelving in shelvings])
    for shelving in shelvings:
        shelving.ended_at = now
        session.flush()
        kept = and_(Alarm.shelving_id == shelving.id, Alarm.status == AlarmStatus.SHELVED)
        newest = select(*ARRIVAL).where(kept).order_by(Alarm.occurred_at.desc(), Alarm.id.desc()).limit(1)
        row = session.execute(newest).one_or_none()
        if row is not None and not _cleared_since(session, Arrival(*row)):
            _place(session, Arrival(*row), kept, now, rules)
    return len(shelvings)


def _over(now: datetime) -> ColumnElement[bool]:
    """That it keeps nothing back any more, and what it kept back has no place yet."""
    return and_(Shelving.ended_at.is_(None), or_(Shelving.ended_by.is_not(None), Shelving.until <= now))


def _cleared_since(session: Session, alarm: Arrival) -> bool:
    """Of one moment, by whole seconds perhaps, what came later: a fault that stands must get its order."""
    later = or_(
        Alarm.occurred_at > alarm.occurred_at,
        and_(Alarm.occurred_at == alarm.occurred_at, Alarm.id > alarm.id),
    )
    query = select(Alarm.attributes).where(
        Alarm.fingerprint == alarm.fingerprint, Alarm.state == AlarmState.CLEARED, later
    )
    return any(not is_historical(attributes) for attributes in session.scalars(query))


def _place(session: Session, newest: Arrival, kept: ColumnElement[bool], now: datetime, rules: Rules) -> None:
    """Where the newest leads or belongs, the others belong too. There may be any number of them: it is the
    faults that chatter which are shelved."""
    own = update(Alarm).where(Alarm.id == newest.id)
    changed(session, own.values(status=AlarmStatus.WAITING, next_attempt_at=now))
    admit(session, [newest], now, rules)
    leader_id = session.scalar(select(Alarm.leader_id).where(Alarm.id == newest.id)) or newest.id
    severest = select(*ARRIVAL).where(kept).order_by(Alarm.severity.desc(), Alarm.id).limit(1)
    row = session.execute(severest).one_or_none()
    if row is None:
        return
    worst = Arrival(*row)
    first_at = session.scalars(select(func.min(Alarm.occurred_at)).where(kept)).one()
    how_many = changed(
        session, update(Alarm).where(kept).values(status=AlarmStatus.ATTACHED, leader_id=leader_id)
    )
    standing = session.scalars(
        select(StandingAlarm).where(
            StandingAlarm.fingerprint == newest.fingerprint, StandingAlarm.status == StandingStatus.OPEN
        )
    ).one()
    standing.occurrences += how_many
    standing.first_at = min(standing.first_at, first_at)
    standing.severity = max(standing.severity, worst.severity)
    session.flush()
    raise_urgency(session, {leader_id: worst}, now, rules)
