"""Shelving a fingerprint and ending that, as a person asks for it; what is shelved, and what it kept back."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, func, not_, select, text, update
from sqlalchemy.orm import Session

from db.errors import AlreadyShelved, AmbiguousFingerprint, NotShelved, UnknownFingerprint, UnknownOrder
from db.models import Alarm, Shelving, StandingAlarm, WorkOrder
from db.models.standing import StandingStatus
from db.queries.rows import fitted, insert
from db.queries.shape import fields
from db.queries.standing.shelved import lasting

SHELVING_FIELDS = (
    "id",
    "fingerprint",
    "line_name",
    "equipment",
    "fault_code",
    "until",
    "shelved_by",
    "why",
    "shelved_at",
    "ended_at",
    "ended_by",
)
_SHOWN = 5
"""So many of the fingerprints that begin alike are named."""


def shelve(session: Session, key: str, until: datetime, by: str, why: str, now: datetime) -> dict[str, Any]:
    """Shelve a fingerprint, given as `fingerprint_of` takes it; the shelving, and as `order_id` the open
    order that holds the fingerprint, if any.

    Raises AlreadyShelved besides what `fingerprint_of` raises; also when the last shelving is over, and no
    intake has given the alarms that it kept back their places yet.
    """
    fingerprint = fingerprint_of(session, key)
    alarm = session.scalars(
        select(Alarm).where(Alarm.fingerprint == fingerprint).order_by(Alarm.id.desc()).limit(1)
    ).one()
    statement = (
        insert(session, Shelving)
        .values(
            **fitted(Shelving, shelved_by=by, why=why),
            fingerprint=fingerprint,
            line_name=alarm.line_name,
            equipment=alarm.equipment,
            fault_code=alarm.code_key,
            until=until,
            shelved_at=now,
        )
        .on_conflict_do_nothing(index_elements=["fingerprint"], index_where=text("ended_at is null"))
        .returning(Shelving.id)
    )
    shelving_id = session.scalar(statement)
    if shelving_id is None:
        held = session.scalar(select(Shelving).where(_held(fingerprint)))
        if held is None:  # it has ended between the two statements
            return shelve(session, key, until, by, why, now)
        agreed = held.until.astimezone(until.tzinfo)
        raise AlreadyShelved(fingerprint, agreed, held.shelved_by, now, held.ended_by)
    [shelving] = _shelvings(session, Shelving.id == shelving_id)
    return shelving | {"order_id": _holder(session, fingerprint)}


def unshelve(session: Session, key: str, by: str, now: datetime) -> dict[str, Any]:
    """Say that a shelving is to end; the shelving. The intake ends it, within seconds.

    Raises NotShelved besides what `fingerprint_of` raises.
    """
    fingerprint = fingerprint_of(session, key)
    ids = session.scalars(
        update(Shelving)
        .where(Shelving.fingerprint == fingerprint, lasting(now))
        .values(fitted(Shelving, ended_by=by))
        .returning(Shelving.id)
        .execution_options(synchronize_session=False)
    ).all()
    if not ids:
        raise NotShelved(fingerprint)
    [shelving] = _shelvings(session, Shelving.id.in_(ids))
    return shelving


def list_shelved(session: Session, now: datetime, ended: bool = False) -> list[dict[str, Any]]:
    """What is shelved now, the next one to end on top; with `ended`, below it what was shelved before."""
    lasts = lasting(now)
    if not ended:
        return _shelvings(session, lasts)
    return _shelvings(session, lasts) + _shelvings(session, not_(lasts), latest_first=True)


def fingerprint_of(session: Session, key: str) -> str:
    """The one that begins with these hex digits, among all alarms that ever came; or that of an order's
    opening alarm.

    Raises UnknownOrder, UnknownFingerprint and AmbiguousFingerprint.
    """
    if key.upper().startswith("WO-"):
        opened = select(Alarm.fingerprint).join(WorkOrder, WorkOrder.id == Alarm.work_order_id)
        own = session.scalar(opened.where(WorkOrder.order_id == key.upper()))
        if own is None:
            raise UnknownOrder(key)
        return own
    start = key.lower()
    # As a range, which both databases find in the index; "g" comes after every hex digit.
    begin_so = select(Alarm.fingerprint).where(Alarm.fingerprint >= start, Alarm.fingerprint < start + "g")
    found = session.scalars(begin_so.distinct().order_by(Alarm.fingerprint).limit(_SHOWN)).all()
    if not found:
        raise UnknownFingerprint(key)
    if len(found) > 1:
        raise AmbiguousFingerprint(key, found)
    return found[0]


def _held(fingerprint: str) -> ColumnElement[bool]:
    """That of all shelvings of the fingerprint, it is the one that has not ended."""
    return and_(Shelving.fingerprint == fingerprint, Shelving.ended_at.is_(None))


def _holder(session: Session, fingerprint: str) -> str | None:
    """The open order that holds the fingerprint."""
    query = (
        select(WorkOrder.order_id)
        .join(Alarm, Alarm.work_order_id == WorkOrder.id)
        .join(StandingAlarm, StandingAlarm.leader_id == Alarm.id)
        .where(StandingAlarm.fingerprint == fingerprint, StandingAlarm.status == StandingStatus.OPEN)
    )
    return session.scalar(query)


def _shelvings(
    session: Session, wanted: ColumnElement[bool], latest_first: bool = False
) -> list[dict[str, Any]]:
    """Each with the number of alarms that it kept back, whatever has become of them since."""
    kept_back = (
        select(func.count()).select_from(Alarm).where(Alarm.shelving_id == Shelving.id).scalar_subquery()
    )
    ended_last = (Shelving.ended_at.is_not(None), Shelving.ended_at.desc(), Shelving.id.desc())
    order = ended_last if latest_first else (Shelving.until, Shelving.id)
    rows = session.execute(select(Shelving, kept_back).where(wanted).order_by(*order))
    return [fields(row, SHELVING_FIELDS) | {"kept_back": kept} for row, kept in rows]
