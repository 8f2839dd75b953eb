"""Alarms of one fault or another, taken in as the intake does, and what then stands of them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from db.models import Alarm, StandingAlarm, WorkOrder
from db.models.alarm import AlarmStatus
from db.models.standing import StandingStatus
from db.queries.alarms.intake import NewAlarm, accept
from db.queries.orders.transitions import set_status
from db.rules import DEFAULT_RULES, Rules
from db.session import Database
from tests.helpers.support import NOW, an_alarm, claimed, entries, settled

TO_COMPLETED = ("Ready", "Dispatched", "Running", "Completed")


def minutes(number: float) -> datetime:
    """The moment so many minutes after NOW."""
    return NOW + timedelta(minutes=number)


def fault(name: str, at: float = 0, **facts: Any) -> NewAlarm:
    """An alarm of the fault of that name, raised so many minutes after NOW."""
    return an_alarm(**{"equipment": name, "severity": 500, "occurred_at": minutes(at)} | facts)


def cleared(name: str, at: float = 0, **facts: Any) -> NewAlarm:
    return fault(name, at, state="cleared", **facts)


def take_in(
    database: Database,
    *alarms: NewAlarm,
    now: datetime = NOW,
    rules: Rules = DEFAULT_RULES,
    at_once: bool = False,
) -> None:
    """Accept the alarms one after the other, or in one batch."""
    batches: Sequence[Sequence[NewAlarm]] = [alarms] if at_once else [[alarm] for alarm in alarms]
    for batch in batches:
        with database.writing() as session:
            accept(session, entries(batch), [], now, rules)


class Place(NamedTuple):
    """What became of an alarm; `leader` is the event of the alarm that it belongs to."""

    status: str
    leader: str | None


def places(database: Database, *alarms: NewAlarm) -> list[Place]:
    leader = aliased(Alarm)
    query = select(Alarm.event_id, Alarm.status, leader.event_id).outerjoin(
        leader, leader.id == Alarm.leader_id
    )
    with database.reading() as session:
        found = {event_id: Place(status.value, led_by) for event_id, status, led_by in session.execute(query)}
    return [found[alarm.event_id] for alarm in alarms]


LEADS = Place("waiting", None)


def attached(to: NewAlarm) -> Place:
    return Place("attached", to.event_id)


def stored(to: NewAlarm | None = None) -> Place:
    return Place("stored", to.event_id if to is not None else None)


def standing(database: Database, name: str | None = None) -> list[StandingAlarm]:
    """All that ever stood, or those of the fault of that name; the first one first."""
    query = select(StandingAlarm).order_by(StandingAlarm.id)
    if name is not None:
        query = query.where(StandingAlarm.equipment == name)
    with database.reading() as session:
        return list(session.scalars(query))


def the_standing(database: Database, name: str) -> StandingAlarm:
    """The one that stands now."""
    [row] = [row for row in standing(database, name) if row.status is StandingStatus.OPEN]
    return row


def ordered(database: Database, alarm: NewAlarm, now: datetime = NOW) -> str:
    """Work the alarm through; its order's id."""
    row = alarm_row(database, alarm)
    return settled(database, row.id, claimed(database, row.id, now), now=now)


def alarm_row(database: Database, alarm: NewAlarm) -> Alarm:
    with database.reading() as session:
        return session.scalars(
            select(Alarm).where(Alarm.source == alarm.source, Alarm.event_id == alarm.event_id)
        ).one()


def order_row(database: Database, order_id: str) -> WorkOrder:
    with database.reading() as session:
        return session.scalars(select(WorkOrder).where(WorkOrder.order_id == order_id)).one()


def move(database: Database, order_id: str, *statuses: str, now: datetime = NOW) -> None:
    for status in statuses:
        with database.writing() as session:
            set_status(session, order_id, status, "王芳", "", now)


def complete(database: Database, order_id: str, now: datetime = NOW) -> None:
    move(database, order_id, *TO_COMPLETED, now=now)


def books_balance(session: Session) -> None:
    """Each alarm that wants an order leads to one or belongs to one, and is counted there once."""
    open_or_settled = {"waiting", "dispatched", "running", "poison", "settled"}
    alarms = {row.id: row for row in session.scalars(select(Alarm))}
    rows = session.scalars(select(StandingAlarm)).all()
    counted = dict.fromkeys(((row.fingerprint, row.leader_id) for row in rows), 0)
    assert len(counted) == len(rows)
    for alarm in alarms.values():
        leads = alarm.status.value in open_or_settled
        assert leads == (
            alarm.state.value == "active"
            and alarm.leader_id is None
            and alarm.status not in (AlarmStatus.STORED, AlarmStatus.SHELVED)
        )
        if alarm.leader_id is not None:
            leader = alarms[alarm.leader_id]
            assert leader.leader_id is None
            assert leader.status.value in open_or_settled
        if leads or alarm.status is AlarmStatus.ATTACHED:
            counted[alarm.fingerprint, alarm.leader_id or alarm.id] += 1
    assert {(row.fingerprint, row.leader_id): row.occurrences for row in rows} == counted
