"""The books: where every alarm, order and rejected entry stands, and whether they balance."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Integer,
    Select,
    String,
    and_,
    cast,
    func,
    literal,
    select,
    union_all,
)
from sqlalchemy.orm import Session, aliased

from db.models import Alarm, Flood, RejectedAlarm, Shelving, StandingAlarm, WorkOrder
from db.models.alarm import OPEN, AlarmState, AlarmStatus, RejectedStatus
from db.models.order import ENDED
from db.models.standing import StandingStatus
from db.queries import clock
from db.queries.alarms.attempts import STILL_OPEN
from db.queries.standing.shelved import lasting

_NONE: ColumnElement[int] = literal(0)


def books(session: Session, now: datetime | None = None) -> dict[str, Any]:
    """How many there are of each, all of one moment, although the line goes on meanwhile.

    They are `balanced` when each active alarm that is not historical has opened an order, is attached to a
    leader, is shelved or is still open, and each order is one alarm's own; else `amiss` says what is not so.
    """
    counts = _Counts(session, now or clock.now(session))
    active, cleared = counts["active"], counts["cleared"]
    alarms, orders, with_order = active + cleared, counts["order"], counts["with order"]
    counts["amiss"] |= {
        "cleared events are not stored": cleared.total() - cleared[AlarmStatus.STORED],
        "settled alarms have no order": alarms[AlarmStatus.SETTLED] - with_order[AlarmStatus.SETTLED],
        "alarms have an order but are not settled": with_order.total() - with_order[AlarmStatus.SETTLED],
    }
    amiss = [f"{count} {what}" for what, count in counts["amiss"].items() if count]
    return {
        "alarms": {status.value: alarms[status] for status in AlarmStatus},
        "active": active.total() - active[AlarmStatus.STORED],
        "cleared": cleared.total(),
        "historical": active[AlarmStatus.STORED],
        "opened": alarms[AlarmStatus.SETTLED],
        "attached": alarms[AlarmStatus.ATTACHED],
        "shelved": alarms[AlarmStatus.SHELVED],
        "open": sum(alarms[status] for status in OPEN),
        "poison": alarms[AlarmStatus.POISON],
        "rejected": {status.value: counts["rejected"][status] for status in RejectedStatus},
        "orders": orders.total(),
        "orders_open": sum(count for status, count in orders.items() if status not in ENDED),
        "standing": counts["standing"]["alarms"],
        "floods": counts["standing"]["floods"],
        "shelvings": counts["standing"]["shelvings"],
        "balanced": not amiss,
        "amiss": amiss,
    }


def oldest_open(session: Session) -> dict[str, datetime]:
    """When the oldest alarm of each open status was received."""
    query = select(Alarm.status, func.min(Alarm.received_at)).where(STILL_OPEN).group_by(Alarm.status)
    return {status.value: received_at for status, received_at in session.execute(query)}


def newest_alarm(session: Session) -> datetime | None:
    """When the last alarm was received."""
    return session.scalars(select(Alarm.received_at).order_by(Alarm.id.desc()).limit(1)).one_or_none()


class _Counts(defaultdict[str, Counter[str]]):
    """What is counted, by part and word. It is one statement: several would each see another moment."""

    def __init__(self, session: Session, now: datetime) -> None:
        super().__init__(Counter)
        for part, word, number, with_order in session.execute(_statement(now)):
            self[part][word] += number
            self["with order"][word] += with_order


def _statement(now: datetime) -> CompoundSelect[str, str, int, int]:
    standing = {
        "alarms": select(func.count()).where(StandingAlarm.status == StandingStatus.OPEN),
        "floods": select(func.count()).where(Flood.ended_at.is_(None)),
        "shelvings": select(func.count()).select_from(Shelving).where(lasting(now)),
    }
    return union_all(
        _by_status(cast(Alarm.state, String), Alarm.status, func.count(Alarm.work_order_id)),
        _by_status(literal("order"), WorkOrder.status),
        _by_status(literal("rejected"), RejectedAlarm.status),
        *_singles("standing", standing),
        *_singles("amiss", _wrongs()),
    )


def _by_status(
    part: ColumnElement[str], status: Any, with_order: ColumnElement[int] = _NONE
) -> Select[str, str, int, int]:
    return select(part, cast(status, String), func.count(), with_order).group_by(part, status)


def _singles(part: str, counts: Mapping[str, Select[int]]) -> list[Select[str, str, int, int]]:
    return [
        select(literal(part), literal(word), count.scalar_subquery(), _NONE) for word, count in counts.items()
    ]


def _wrongs() -> dict[str, Select[int]]:
    """What may not be, in words, and how often it is; what the counts by status tell is not among it."""
    leader, other = aliased(Alarm), aliased(Alarm)
    how_many = select(func.count()).select_from(Alarm)
    attached = (
        select(Alarm.leader_id, func.count().label("number"))
        .where(Alarm.status == AlarmStatus.ATTACHED)
        .group_by(Alarm.leader_id)
        .subquery()
    )
    leads = and_(leader.status.in_((*OPEN, AlarmStatus.SETTLED)), leader.leader_id.is_(None))
    return {
        "active alarms are stored although they are not historical": how_many.where(
            Alarm.state == AlarmState.ACTIVE, Alarm.status == AlarmStatus.STORED, ~_said_historical()
        ),
        "alarms have an order that is another one's too": how_many.where(
            select(other.id)
            .where(other.work_order_id == Alarm.work_order_id, other.id != Alarm.id)
            .correlate(Alarm)
            .exists()
        ),
        "orders belong to no alarm": select(func.count())
        .select_from(WorkOrder)
        .where(~select(Alarm.id).where(Alarm.work_order_id == WorkOrder.id).exists()),
        "attached alarms have no leader that makes or made an order": select(
            func.coalesce(cast(func.sum(attached.c.number), Integer), 0)
        )
        .outerjoin(leader, and_(leader.id == attached.c.leader_id, leads))
        .where(leader.id.is_(None)),
    }


def _said_historical() -> ColumnElement[bool]:
    """SQLite reads JSON's true as 1, PostgreSQL as 'true'."""
    said = Alarm.attributes["historical"].as_string()
    return func.coalesce(cast(said, String), "").in_(("1", "true"))
