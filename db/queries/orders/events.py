"""From an alarm's event to the order that it belongs to, or the reason why there is none."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from db.errors import AmbiguousEvent, NoOrderYet, UnknownOrder
from db.models import Alarm, Shelving
from db.models.alarm import AlarmState, AlarmStatus

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
        raise NoOrderYet(event_id, alarm.source, alarm.status, _why(session, alarm, leader))
    return leader.work_order_id


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


def _why(session: Session, alarm: Alarm, leader: Alarm) -> str:
    """Why the alarm has no order, and whether one is to come."""
    if leader is not alarm:
        part = "an occurrence" if alarm.state is AlarmState.ACTIVE else "the clear"
        return (
            f"it is {part} of event {leader.event_id!r} from {leader.source!r}, which is {leader.status}: "
            f"{_to_come(leader.status)}"
        )
    if alarm.status is AlarmStatus.SHELVED:
        return _shelved(session.scalar(select(Shelving).where(Shelving.id == alarm.shelving_id)))
    if alarm.status is not AlarmStatus.STORED:
        return _to_come(alarm.status)
    if alarm.state is AlarmState.ACTIVE:
        return "a historical event makes none"
    return "a cleared event makes none, and none was open that it could clear"


def _shelved(shelving: Shelving | None) -> str:
    if shelving is None:
        return "its fingerprint was shelved"
    then = (
        "it gets its order when that ends, unless the fault has been cleared by then"
        if shelving.ended_at is None
        else "the fault was cleared before that ended"
    )
    return f"its fingerprint was shelved by {shelving.shelved_by!r}, {shelving.why!r}; {then}"


def _to_come(status: AlarmStatus) -> str:
    if status is AlarmStatus.POISON:
        return "three attempts came to nothing, now the runbook alone tries; see `alarm-worker poison list`"
    return "one is made once it has been handled"
