"""The judge: whether every alarm that the broker confirmed is accounted for, once, in the database."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from db.models import AgentRun, Alarm, OrderCounter, StandingAlarm, WorkOrder
from db.models.alarm import AlarmState, AlarmStatus, RunOutcome
from db.models.order import OrderStatus
from db.queries.books import books as own_books
from producers.events import AlarmEvent
from tests.chaos.feeder import Identity

ENDED = (OrderStatus.COMPLETED, OrderStatus.CANCELLED, OrderStatus.CLOSED)


@dataclass
class Books:
    """`accepted` are the distinct active alarms, each of which must have become one of the next two."""

    accepted: int = 0
    orders: int = 0
    attached: int = 0
    cleared: int = 0
    failures: int = 0  # attempts counted against them
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    amiss: list[str] = field(default_factory=list)

    @property
    def balance(self) -> bool:
        return not (self.lost or self.doubled or self.amiss)


def audited(session: Session, confirmed: Mapping[Identity, AlarmEvent], source: str | None = None) -> Books:
    """The books, of one source if it is named; what is doubled is looked for in the whole database.

    Ask when the line has come to rest.
    """
    books = Books()
    alarms = {(row.source, row.event_id): row for row in session.scalars(select(Alarm))}
    by_id = {row.id: row for row in alarms.values()}
    for identity, event in confirmed.items():
        if source in (None, identity[0]):
            _enter(books, event, alarms.get(identity), by_id)
    books.doubled += _doubled(session, by_id.values())
    books.amiss += _gaps(session) + _miscounted(session, by_id.values())
    books.amiss += [f"alarm-worker status: {one}" for one in own_books(session)["amiss"]]
    return books


def _enter(books: Books, event: AlarmEvent, row: Alarm | None, by_id: Mapping[int, Alarm]) -> None:
    named = f"{event.source}/{event.event_id}"
    if event.state == "cleared":
        books.cleared += 1
        if row is None:
            books.lost.append(f"{named}: a cleared event, not in the database")
        elif row.status != AlarmStatus.STORED:
            books.amiss.append(f"{named}: a cleared event is {row.status}")
        return
    books.accepted += 1
    if row is None:
        books.lost.append(f"{named}: not in the database")
        return
    books.failures += row.failures
    leader = by_id.get(row.leader_id) if row.leader_id is not None else None
    if row.status == AlarmStatus.SETTLED and row.work_order_id is not None:
        books.orders += 1
    elif row.status == AlarmStatus.ATTACHED and leader is not None and leader.work_order_id is not None:
        books.attached += 1
    else:
        books.lost.append(f"{named}: {row.status}, without an order, after {row.failures} failures")


def _doubled(session: Session, alarms: Iterable[Alarm]) -> list[str]:
    found = []
    orders = session.execute(
        select(WorkOrder.source, WorkOrder.event_id, func.count())
        .group_by(WorkOrder.source, WorkOrder.event_id)
        .having(func.count() > 1)
    )
    found += [f"{source}/{event_id}: {number} orders" for source, event_id, number in orders]
    settled = session.execute(
        select(AgentRun.alarm_id, func.count())
        .where(AgentRun.outcome == RunOutcome.SETTLED)
        .group_by(AgentRun.alarm_id)
        .having(func.count() > 1)
    )
    found += [f"alarm {alarm_id}: {number} settled runs" for alarm_id, number in settled]
    open_orders = session.execute(
        select(Alarm.fingerprint, func.count())
        .join(WorkOrder, WorkOrder.id == Alarm.work_order_id)
        .where(WorkOrder.status.not_in(ENDED))
        .group_by(Alarm.fingerprint)
        .having(func.count() > 1)
    )
    found += [f"fingerprint {mark}: {number} open orders" for mark, number in open_orders]
    own = Counter(alarm.work_order_id for alarm in alarms if alarm.work_order_id is not None)
    found += [f"order {order_id}: {number} alarms own it" for order_id, number in own.items() if number > 1]
    orphans = set(session.scalars(select(WorkOrder.id))) - own.keys()
    return found + [f"order {order_id}: no alarm owns it" for order_id in orphans]


def _gaps(session: Session) -> list[str]:
    """Order numbers run from 1 without a gap, day by day, up to the day's counter."""
    query = select(
        WorkOrder.plant_date, func.count(), func.min(WorkOrder.sequence), func.max(WorkOrder.sequence)
    ).group_by(WorkOrder.plant_date)
    counters = {counter.plant_date: counter.last for counter in session.scalars(select(OrderCounter))}
    return [
        f"{day}: {number} orders are numbered {first} to {last}, the counter says {counters.get(day)}"
        for day, number, first, last in session.execute(query)
        if not (first == 1 and number == last == counters.get(day))
    ]


def _miscounted(session: Session, alarms: Iterable[Alarm]) -> list[str]:
    """Each standing alarm counts its occurrences: the active events of its fingerprint and its leader."""
    events = Counter(
        (alarm.fingerprint, alarm.leader_id or alarm.id)
        for alarm in alarms
        if alarm.state == AlarmState.ACTIVE and alarm.status != AlarmStatus.SHELVED
    )
    standing = session.scalars(select(StandingAlarm))
    counted = {(row.fingerprint, row.leader_id): row.occurrences for row in standing}
    return [
        f"fingerprint {key[0]}: {counted.get(key, 0)} occurrences counted of {events[key]}"
        for key in events.keys() | counted.keys()
        if counted.get(key, 0) != events[key]
    ]
