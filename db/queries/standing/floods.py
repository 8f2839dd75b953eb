"""A line in a flood: what comes on top of its limit joins one order, the flood's."""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from db.codes import comparable
from db.models import Flood, StandingAlarm
from db.queries.rows import changed
from db.queries.standing.arrivals import Arrival
from db.queries.standing.lines import lock_lines
from db.rules import FloodLimit, Rules

NEVER_GROUPED = 800
"""An alarm of this severity or worse leads to an order of its own, whatever its line is in."""
UNLIMITED_LASTS = timedelta(minutes=10)
"""A flood's time where there is no limit: while the setting is changed, another worker may still have one."""


def leader_for(session: Session, alarm: Arrival, now: datetime, rules: Rules) -> int | None:
    """The alarm whose order a new standing alarm joins, since its line is in a flood; None: it leads. The
    first one above the limit leads the flood. The caller holds the line."""
    limit = rules.flood_limit
    if limit is None or alarm.severity >= NEVER_GROUPED:
        return None
    line_key = comparable(alarm.line_name)
    around = _around(line_key, alarm.occurred_at, limit)
    some = select(StandingAlarm.id).where(around).limit(limit.alarms).subquery()
    if session.scalars(select(func.count()).select_from(some)).one() < limit.alarms:
        return None
    flood = select(Flood.leader_id).where(Flood.line_key == line_key, Flood.ended_at.is_(None))
    leader_id = session.scalars(flood).one_or_none()
    if leader_id is not None:
        return leader_id
    first_out = select(StandingAlarm.leader_id).where(around)
    first_out = first_out.order_by(StandingAlarm.first_at, StandingAlarm.id).limit(1)
    session.add(
        Flood(
            line_key=line_key,
            line_name=alarm.line_name,
            leader_id=alarm.id,
            first_out_id=session.scalars(first_out).one(),
            started_at=now,
        )
    )
    return None


def any_over(session: Session, now: datetime, rules: Rules) -> bool:
    """Whether `end` would end any."""
    return bool(_over(session, now, rules.flood_limit))


def end(session: Session, now: datetime, rules: Rules) -> int:
    """End the floods of the lines that are no longer above the limit, a window after their beginning at the
    earliest: a backlog's alarms were raised long before. Without a limit each lasts for a while. How many it
    were."""
    limit = rules.flood_limit
    if not (floods := _over(session, now, limit)):
        return 0
    lock_lines(session, [line_name for _, line_name in floods])
    over = [flood_id for flood_id, _ in _over(session, now, limit)]
    return changed(
        session, update(Flood).where(Flood.id.in_(over), Flood.ended_at.is_(None)).values(ended_at=now)
    )


def _over(session: Session, now: datetime, limit: FloodLimit | None) -> list[tuple[int, str]]:
    lasting = select(Flood.id, Flood.line_name).where(Flood.ended_at.is_(None))
    if limit is None:
        old = lasting.where(Flood.started_at <= now - UNLIMITED_LASTS)
        return [(flood_id, line_name) for flood_id, line_name in session.execute(old)]
    recent = (
        select(func.count())
        .where(
            StandingAlarm.line_key == Flood.line_key,
            StandingAlarm.first_at > now - limit.window,
            StandingAlarm.first_at <= now,
        )
        .scalar_subquery()
    )
    over = lasting.where(Flood.started_at <= now - limit.window, recent < limit.alarms)
    return [(flood_id, line_name) for flood_id, line_name in session.execute(over)]


def _around(line_key: str, moment: datetime, limit: FloodLimit) -> ColumnElement[bool]:
    """The line's standing alarms that were first raised less than the window before that moment, or after it:
    of a burst, the alarms come in any order."""
    return (
        (StandingAlarm.line_key == line_key)
        & (StandingAlarm.first_at > moment - limit.window)
        & (StandingAlarm.first_at < moment + limit.window)
    )
