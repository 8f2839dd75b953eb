"""Taking alarms off the queue into the database: once each, at its place, and the unreadable beside them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import select, text, tuple_
from sqlalchemy.orm import Session

from db.codes import fingerprint, normalise
from db.models import Alarm, RejectedAlarm
from db.models.alarm import AlarmState, AlarmStatus, RejectReason
from db.queries.rows import insert, storable
from db.queries.standing.arrivals import Arrival
from db.queries.standing.places import admit
from db.queries.standing.shelved import keep_back
from db.rules import DEFAULT_RULES, Rules

KEPT_BYTES = 64 * 1024
"""How much is kept of an entry that could not be read."""

_CHUNK = 500


@dataclass(frozen=True)
class NewAlarm:
    """What an event says; `(source, event_id)` is its identity, `content_digest` stands for all of it."""

    source: str
    event_id: str
    content_digest: str
    line_name: str
    equipment: str
    equipment_class: str
    fault_code: str
    severity: int
    state: str
    message: str
    occurred_at: datetime
    attributes: Mapping[str, Any]
    historical: bool = False  # kept, and part of no order


@dataclass(frozen=True)
class Unreadable:
    entry_id: str
    raw: bytes
    reason: RejectReason
    detail: str


@dataclass(frozen=True)
class Accepted:
    """What became of the entries, each counted once."""

    new: int
    repeated: int
    rejected: int


Identity = tuple[str, str]


def accept(
    session: Session,
    alarms: Sequence[tuple[str, bytes, NewAlarm]],
    unreadable: Sequence[Unreadable],
    now: datetime,
    rules: Rules = DEFAULT_RULES,
) -> Accepted:
    """Keep a batch of `(entry id, raw bytes, alarm)` and of unreadable entries; again, it changes nothing.

    An identity that stands already with the same content is a repeat; with other content it is rejected
    as `id_reused`, the stored alarm left as it was. Of the new alarms each gets its place: historical ones
    and those of a shelved fingerprint are kept, the others lead or belong to a standing alarm.

    Locks are always taken in this order, here and wherever several are: alarms that are inserted, shelvings,
    lines, standing alarms, the alarms that lead there, orders.
    """
    first: dict[Identity, NewAlarm] = {}
    for _, _, alarm in alarms:
        first.setdefault((alarm.source, alarm.event_id), alarm)
    rows = {identity: _row(alarm, now) for identity, alarm in first.items()}
    new = _insert(session, rows)
    arrivals = [
        _arrival(new[identity], rows[identity])
        for identity, alarm in first.items()
        if identity in new and not alarm.historical
    ]
    admit(session, keep_back(session, arrivals, now), now, rules)
    stored = _digests(session, first.keys() - new.keys()) | {key: first[key].content_digest for key in new}
    reused = [
        Unreadable(entry_id, raw, RejectReason.ID_REUSED, _reused(alarm))
        for entry_id, raw, alarm in alarms
        if stored[alarm.source, alarm.event_id] != alarm.content_digest
    ]
    _reject(session, [*unreadable, *reused], now)
    return Accepted(
        new=len(new),
        repeated=len(alarms) - len(new) - len(reused),
        rejected=len(unreadable) + len(reused),
    )


def _insert(session: Session, alarms: Mapping[Identity, dict[str, Any]]) -> dict[Identity, int]:
    """Insert the rows of those that do not stand yet; the ids of these."""
    if not alarms:
        return {}
    rows = list(alarms.values())
    if session.get_bind().dialect.name == "postgresql":
        # Ids in the order of arrival, rows in the order of identities: two intakes that were given the
        # same alarms in different orders would otherwise wait for each other, and one be broken off.
        numbers = text(
            "SELECT nextval(pg_get_serial_sequence('alarm', 'id')) FROM generate_series(1, :count)"
        )
        ids = session.scalars(numbers, {"count": len(rows)}).all()
        rows = [row | {"id": number} for row, number in zip(rows, sorted(ids), strict=True)]
        rows.sort(key=lambda row: (row["source"], row["event_id"]))
    statement = (
        insert(session, Alarm)
        .on_conflict_do_nothing(index_elements=["source", "event_id"])
        .returning(Alarm.source, Alarm.event_id, Alarm.id)
    )
    return {(source, event_id): number for source, event_id, number in session.execute(statement, rows)}


def _row(alarm: NewAlarm, now: datetime) -> dict[str, Any]:
    makes_none = alarm.historical or alarm.state == AlarmState.CLEARED
    return {name: value for name, value in vars(alarm).items() if name != "historical"} | {
        "code_key": normalise(alarm.fault_code),
        "fingerprint": fingerprint(alarm.line_name, alarm.equipment, alarm.fault_code),
        "received_at": now,
        "status": AlarmStatus.STORED if makes_none else AlarmStatus.WAITING,
        "next_attempt_at": now,
    }


def _arrival(alarm_id: int, row: Mapping[str, Any]) -> Arrival:
    return Arrival(**{name: row[name] for name in Arrival.__dataclass_fields__ if name != "id"}, id=alarm_id)


def _digests(session: Session, identities: Collection[Identity]) -> dict[Identity, str]:
    """The content digests of alarms that stand already."""
    found: dict[Identity, str] = {}
    wanted = list(identities)
    for start in range(0, len(wanted), _CHUNK):
        query = select(Alarm.source, Alarm.event_id, Alarm.content_digest).where(
            tuple_(Alarm.source, Alarm.event_id).in_(wanted[start : start + _CHUNK])
        )
        found |= {(source, event_id): digest for source, event_id, digest in session.execute(query)}
    return found


def _reused(alarm: NewAlarm) -> str:
    return (
        f"event_id {alarm.event_id!r} from source {alarm.source!r} was accepted before with other content; "
        "send each alarm under an event_id of its own"
    )


def _reject(session: Session, entries: Iterable[Unreadable], now: datetime) -> None:
    rows = [
        {
            "entry_id": entry.entry_id,
            "raw": entry.raw[:KEPT_BYTES],
            "raw_bytes": len(entry.raw),
            "raw_digest": sha256(entry.raw).hexdigest(),
            "reason": entry.reason,
            "detail": storable(entry.detail),
            "received_at": now,
        }
        for entry in entries
    ]
    if rows:
        rows.sort(key=lambda row: (row["entry_id"], row["raw_digest"]))  # so that two intakes never deadlock
        statement = insert(session, RejectedAlarm)
        session.execute(statement.on_conflict_do_nothing(index_elements=["entry_id", "raw_digest"]), rows)
