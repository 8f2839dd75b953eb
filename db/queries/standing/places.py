"""The place of each alarm that comes in: it leads to an order, belongs to a standing one, or clears it."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from db.codes import comparable
from db.models import Alarm, StandingAlarm, WorkOrder
from db.models.alarm import AlarmState, AlarmStatus
from db.models.order import ENDED
from db.models.standing import StandingStatus
from db.queries.standing import floods
from db.queries.standing.arrivals import Arrival, is_historical
from db.queries.standing.lines import lock_lines
from db.queries.standing.urgency import raise_urgency
from db.rules import Rules


def admit(session: Session, arrivals: Sequence[Arrival], now: datetime, rules: Rules) -> None:
    """Give the alarms their places, in this order. They stand as `waiting`, those that clear as `stored`.

    A fault whose order is open is held by its standing alarm: what comes of it is attached to the alarm that
    leads there, and raises the order if it is worse. Else the alarm leads, unless its line is in a flood.
    """
    if not arrivals:
        return
    lock_lines(session, {arrival.line_name for arrival in arrivals})
    places = _Places(session, arrivals, now, rules)
    for arrival in arrivals:
        if arrival.state == AlarmState.CLEARED:
            places.clear(arrival)
        else:
            places.take(arrival)
    session.flush()
    if places.changes:
        session.execute(update(Alarm), places.changes)
    raise_urgency(session, places.worse, now, rules)


class _Places:
    """What stands of the fingerprints in a batch, kept up while its alarms are given their places."""

    def __init__(self, session: Session, arrivals: Sequence[Arrival], now: datetime, rules: Rules) -> None:
        self._session, self._now, self._rules = session, now, rules
        self.changes: list[dict[str, Any]] = []  # of the alarms' rows
        self.worse: dict[int, Arrival] = {}  # of each leader, the worst alarm that is worse than what it had
        fingerprints = {arrival.fingerprint for arrival in arrivals}
        self._held = _held(session, fingerprints, now)
        active = [each for each in arrivals if each.state != AlarmState.CLEARED]
        new = {each.fingerprint for each in active} - self._held.keys()
        batch = {arrival.id for arrival in arrivals}
        since = min((each.occurred_at for each in active if each.fingerprint in new), default=now)
        self._clears = _unmatched_clears(session, new, since, batch)
        self._cleared_before = _cleared_before(session, new, since)
        self._ended = _ended_orders(session, new, now - rules.repeat_window) if rules.repeat_window else {}

    def take(self, alarm: Arrival) -> None:
        standing = self._held.get(alarm.fingerprint)
        if standing is None:
            self._open(alarm)
            return
        standing.occurrences += 1
        standing.first_at = min(standing.first_at, alarm.occurred_at)
        standing.last_at = max(standing.last_at, alarm.occurred_at)
        if standing.cleared_at is not None and alarm.occurred_at > standing.cleared_at:
            standing.cleared_at = None
        if alarm.severity > standing.severity:
            standing.severity = alarm.severity
            self._worse(standing.leader_id, alarm)
        self._attach(alarm, standing.leader_id)

    def clear(self, alarm: Arrival) -> None:
        standing = self._held.get(alarm.fingerprint)
        if standing is None or alarm.occurred_at < standing.last_at:
            self._clears[alarm.fingerprint].append((alarm.id, alarm.occurred_at))
            return
        standing.cleared_at = max(standing.cleared_at or alarm.occurred_at, alarm.occurred_at)
        self._match(alarm.id, standing.leader_id)

    def _open(self, alarm: Arrival) -> None:
        leader_id = floods.leader_for(self._session, alarm, self._now, self._rules) or alarm.id
        early = [one for one in self._clears[alarm.fingerprint] if one[1] >= alarm.occurred_at]
        times = [at for _, at in early]
        before = self._cleared_before.get(alarm.fingerprint)
        if before is not None and before >= alarm.occurred_at:
            times.append(before)
        standing = StandingAlarm(
            fingerprint=alarm.fingerprint,
            leader_id=leader_id,
            status=StandingStatus.OPEN,
            line_key=comparable(alarm.line_name),
            line_name=alarm.line_name,
            equipment=alarm.equipment,
            fault_code=alarm.fault_code,
            code_key=alarm.code_key,
            severity=alarm.severity,
            occurrences=1,
            first_at=alarm.occurred_at,
            last_at=alarm.occurred_at,
            cleared_at=max(times, default=None),
            opened_at=self._now,
            repeat_of=self._ended.get(alarm.fingerprint),
        )
        self._session.add(standing)
        self._held[alarm.fingerprint] = standing
        for clear_id, _ in early:
            self._match(clear_id, leader_id)
        if leader_id != alarm.id:
            self._worse(leader_id, alarm)
            self._attach(alarm, leader_id)

    def _attach(self, alarm: Arrival, leader_id: int) -> None:
        self.changes.append({"id": alarm.id, "status": AlarmStatus.ATTACHED, "leader_id": leader_id})

    def _match(self, clear_id: int, leader_id: int) -> None:
        self.changes.append({"id": clear_id, "status": AlarmStatus.STORED, "leader_id": leader_id})

    def _worse(self, leader_id: int, alarm: Arrival) -> None:
        known = self.worse.get(leader_id)
        if known is None or alarm.severity > known.severity:
            self.worse[leader_id] = alarm


def _held(session: Session, fingerprints: Collection[str], now: datetime) -> dict[str, StandingAlarm]:
    """The open standing alarms by fingerprint. What an older version left open when it ended the order is
    closed here: what belongs to an order that nobody looks at any more would be lost."""
    query = (
        select(StandingAlarm, WorkOrder.status)
        .join(Alarm, Alarm.id == StandingAlarm.leader_id)
        .outerjoin(WorkOrder, WorkOrder.id == Alarm.work_order_id)
        .where(StandingAlarm.fingerprint.in_(fingerprints), StandingAlarm.status == StandingStatus.OPEN)
    )
    held = {}
    for standing, order_status in session.execute(query):
        if order_status in ENDED:
            standing.status, standing.closed_at = StandingStatus.CLOSED, now
        else:
            held[standing.fingerprint] = standing
    session.flush()
    return held


def stand_again(session: Session, leader_id: int) -> None:
    """What an ended order stood for stands again, cleared by what has come since. The caller holds its lines,
    and knows that nothing else stands for it."""
    closed = select(StandingAlarm).where(
        StandingAlarm.leader_id == leader_id, StandingAlarm.status == StandingStatus.CLOSED
    )
    for standing in session.scalars(closed).all():
        standing.status, standing.closed_at = StandingStatus.OPEN, None
        session.flush()
        raised = _last_raised(session, [standing.fingerprint])
        since = max(standing.last_at, raised.get(standing.fingerprint, standing.last_at))
        clears = _unmatched_clears(session, [standing.fingerprint], since, ())[standing.fingerprint]
        matched = _last_matched_clears(session, [standing.fingerprint], since)
        before = [standing.cleared_at] if standing.cleared_at and standing.cleared_at >= since else []
        standing.cleared_at = max((*before, *(at for _, at in clears), *matched.values()), default=None)
        own = update(Alarm).where(Alarm.id.in_([clear_id for clear_id, _ in clears]))
        session.execute(own.values(leader_id=leader_id))


def _unmatched_clears(
    session: Session, fingerprints: Collection[str], since: datetime, batch: Collection[int]
) -> defaultdict[str, list[tuple[int, datetime]]]:
    """The clears since then that came before any alarm that they could clear; those of the batch come in
    their turn."""
    found: defaultdict[str, list[tuple[int, datetime]]] = defaultdict(list)
    if fingerprints:
        query = select(Alarm.id, Alarm.fingerprint, Alarm.occurred_at, Alarm.attributes).where(
            Alarm.fingerprint.in_(fingerprints),
            Alarm.state == AlarmState.CLEARED,
            Alarm.leader_id.is_(None),
            Alarm.occurred_at >= since,
        )
        for alarm_id, fingerprint, occurred_at, attributes in session.execute(query):
            if alarm_id not in batch and not is_historical(attributes):
                found[fingerprint].append((alarm_id, occurred_at))
    return found


def _cleared_before(session: Session, fingerprints: Collection[str], since: datetime) -> dict[str, datetime]:
    """The last clears of earlier orders, where nothing was raised after them."""
    cleared = _last_matched_clears(session, fingerprints, since)
    raised = _last_raised(session, cleared.keys())
    return {name: at for name, at in cleared.items() if at >= raised.get(name, at)}


def _last_matched_clears(
    session: Session, fingerprints: Collection[str], since: datetime
) -> dict[str, datetime]:
    """When each fingerprint was last cleared since then in an earlier order: its alarm may come late."""
    matched = Alarm.state == AlarmState.CLEARED, Alarm.leader_id.is_not(None), Alarm.occurred_at >= since
    return _last(session, fingerprints, *matched)


def _last_raised(session: Session, fingerprints: Collection[str]) -> dict[str, datetime]:
    return _last(session, fingerprints, Alarm.state == AlarmState.ACTIVE, Alarm.status != AlarmStatus.STORED)


def _last(
    session: Session, fingerprints: Collection[str], *which: ColumnElement[bool]
) -> dict[str, datetime]:
    if not fingerprints:
        return {}
    query = select(Alarm.fingerprint, func.max(Alarm.occurred_at)).where(
        Alarm.fingerprint.in_(fingerprints), *which
    )
    return dict(session.execute(query.group_by(Alarm.fingerprint)).all())


def _ended_orders(session: Session, fingerprints: Collection[str], since: datetime) -> dict[str, int]:
    """The last order of each fingerprint that ended since then."""
    if not fingerprints:
        return {}
    query = (
        select(StandingAlarm.fingerprint, Alarm.work_order_id)
        .join(Alarm, Alarm.id == StandingAlarm.leader_id)
        .where(
            StandingAlarm.fingerprint.in_(fingerprints),
            StandingAlarm.closed_at >= since,
            Alarm.work_order_id.is_not(None),
        )
        .order_by(StandingAlarm.closed_at, StandingAlarm.id)
    )
    return {fingerprint: order_id for fingerprint, order_id in session.execute(query) if order_id}
