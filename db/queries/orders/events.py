"""From an alarm's event to the order that it belongs to, or the reason why there is none."""

from datetime import UTC, tzinfo
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from db.errors import AmbiguousEvent, NoOrderYet, UnknownOrder
from db.models import Alarm, Shelving, StandingAlarm, WorkOrder
from db.models.alarm import AlarmState, AlarmStatus
from db.models.standing import StandingStatus
from db.queries import clock
from db.queries.standing.arrivals import is_historical

EVENT_FIELDS = ("event_id", "source", "state", "equipment", "fault_code", "native_code", "occurred_at")


def alarm_of_event(session: Session, event_id: str, source: str | None) -> Alarm:
    """Raises UnknownOrder, and AmbiguousEvent when several sources sent that event id and none is named."""
    query = select(Alarm).where(Alarm.event_id == event_id).order_by(Alarm.source)
    if source is not None:
        query = query.where(Alarm.source == source)
    alarms = session.scalars(query).all()
    if not alarms:
        raise UnknownOrder(event_id, source)
    if len(alarms) > 1:
        raise AmbiguousEvent(event_id, [alarm.source for alarm in alarms])
    return alarms[0]


def leader_of(session: Session, alarm: Alarm) -> Alarm:
    """The alarm whose order this one is part of; itself, where it is part of no other's."""
    leader = session.get(Alarm, alarm.leader_id) if alarm.leader_id is not None else None
    return alarm if leader is None else leader


def order_of_event(session: Session, event_id: str, source: str | None) -> int:
    """The id of the row of the order that the event opened, or is an occurrence or the clear of.

    Raises NoOrderYet besides what `alarm_of_event` raises.
    """
    alarm = alarm_of_event(session, event_id, source)
    leader = leader_of(session, alarm)
    if leader.work_order_id is None:
        raise _no_order_yet(session, alarm, leader, UTC)
    return leader.work_order_id


def without_order(session: Session, event_id: str, source: str | None, zone: tzinfo) -> NoOrderYet:
    """What `order_of_event` raises for the event, with the times of that zone."""
    alarm = alarm_of_event(session, event_id, source)
    return _no_order_yet(session, alarm, leader_of(session, alarm), zone)


def part_of_another(session: Session, event_id: str, source: str | None = None) -> dict[str, Any] | None:
    """The EVENT_FIELDS of an event that is part of an order which another one opened, and that one's event;
    None for an event that stands for itself. Raises what `alarm_of_event` raises."""
    alarm = alarm_of_event(session, event_id, source)
    leader = leader_of(session, alarm)
    if leader is alarm:
        return None
    codes = {"fault_code": alarm.code_key, "native_code": alarm.fault_code, "state": alarm.state.value}
    facts = {name: codes[name] if name in codes else getattr(alarm, name) for name in EVENT_FIELDS}
    return facts | {"leader": {"event_id": leader.event_id, "source": leader.source}}


def _no_order_yet(session: Session, alarm: Alarm, leader: Alarm, zone: tzinfo) -> NoOrderYet:
    return NoOrderYet(alarm.event_id, alarm.source, alarm.status, _why(session, alarm, leader, zone))


def _why(session: Session, alarm: Alarm, leader: Alarm, zone: tzinfo) -> str:
    """Why the alarm has no order, and whether one is to come."""
    if leader is not alarm:
        part = "an occurrence" if alarm.state is AlarmState.ACTIVE else "the clear"
        return (
            f"it is {part} of event {leader.event_id!r} from {leader.source!r}, which is {leader.status}: "
            f"{_to_come(leader.status)}"
        )
    if alarm.status is AlarmStatus.SHELVED:
        by_id = select(Shelving).where(Shelving.id == alarm.shelving_id)
        return _shelved(session, session.scalar(by_id), zone)
    if alarm.status is not AlarmStatus.STORED:
        return _to_come(alarm.status)
    if is_historical(alarm.attributes):
        clears = "" if alarm.state is AlarmState.ACTIVE else ", and clears none"
        return f"a historical event makes none{clears}"
    return f"a cleared event makes none, and {_not_cleared(session, alarm)}"


def _shelved(session: Session, shelving: Shelving | None, zone: tzinfo) -> str:
    """An intake may give the alarm its place only after the end, and not where the fault has been cleared."""
    if shelving is None:
        return "its fingerprint was shelved"
    until = shelving.until.astimezone(zone).isoformat(sep=" ", timespec="minutes")
    off = "" if shelving.ended_by is None else f" and taken off the shelf by {shelving.ended_by!r}"
    said = f"its fingerprint was shelved by {shelving.shelved_by!r} until {until} ({shelving.why!r}){off}"
    if shelving.ended_at is not None:
        return f"{said}; the fault had been cleared by then"
    over = bool(off) or shelving.until <= clock.now(session)
    then = "a running worker ends that within seconds, and then" if over else "then"
    held_by = _held_by(session, shelving.fingerprint)
    place = (
        "it gets an order, or joins one that is open"
        if held_by is None
        else f"it joins {held_by}, or another order if that one has ended"
    )
    return f"{said}; {then}, unless the fault has been cleared, {place}"


def _held_by(session: Session, fingerprint: str) -> str | None:
    """The open order that holds the fingerprint, or is going to."""
    query = (
        select(Alarm, WorkOrder.order_id)
        .join(StandingAlarm, StandingAlarm.leader_id == Alarm.id)
        .outerjoin(WorkOrder, WorkOrder.id == Alarm.work_order_id)
        .where(StandingAlarm.fingerprint == fingerprint, StandingAlarm.status == StandingStatus.OPEN)
    )
    found = session.execute(query).one_or_none()
    if found is None:
        return None
    leader, order_id = found
    return order_id or f"the order that event {leader.event_id!r} from {leader.source!r} is to have"


def _not_cleared(session: Session, clear: Alarm) -> str:
    """A clear that is older than the last occurrence clears nothing, at the moment when it comes."""
    open_then = (
        select(WorkOrder.order_id)
        .select_from(StandingAlarm)
        .join(Alarm, Alarm.id == StandingAlarm.leader_id)
        .outerjoin(WorkOrder, WorkOrder.id == Alarm.work_order_id)
        .where(
            StandingAlarm.fingerprint == clear.fingerprint,
            StandingAlarm.opened_at <= clear.received_at,
            or_(StandingAlarm.closed_at.is_(None), StandingAlarm.closed_at > clear.received_at),
            StandingAlarm.last_at > clear.occurred_at,
        )
        .order_by(StandingAlarm.id.desc())
        .limit(1)
    )
    found = session.execute(open_then).one_or_none()
    if found is None:
        return "none was open that it could clear"
    of = "" if found.order_id is None else f", of {found.order_id},"
    return f"it cleared none: the alarm that was open{of} is newer"


def _to_come(status: AlarmStatus) -> str:
    if status is AlarmStatus.POISON:
        return "three attempts came to nothing, now the runbook alone tries; see `alarm-worker poison list`"
    return "one is made once it has been handled"
