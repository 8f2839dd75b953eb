"""Probes on their way: stored by an intake, sent by a dispatcher, claimed by a task, and then forgotten."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session

from db.models import Alarm, Probe
from db.models.alarm import AlarmStatus
from db.queries import clock
from db.queries.alarms.attempts import CLOCKS_DIFFER
from db.queries.rows import changed, fitted, insert

AT_ONCE = 4
"""So many are sent in a round: however many there are, alarms are not kept waiting by them."""
ASKED_FOR = timedelta(minutes=10)
"""Nobody waits for an answer for longer, so none is sent again after that."""
KEPT = timedelta(hours=1)


@dataclass(frozen=True)
class Stamps:
    """How far a probe has come, by the database's clock."""

    received_at: datetime
    dispatched_at: datetime | None
    claimed_at: datetime | None
    claimed_by: str | None


def receive(session: Session, tokens: Collection[str]) -> None:
    """Store probes, each once; those that were forgotten about are deleted."""
    now = clock.now(session)
    old = select(Probe.token).where(Probe.received_at <= now - KEPT).with_for_update(skip_locked=True)
    session.execute(delete(Probe).where(Probe.token.in_(old)))
    rows = [{"token": token, "received_at": now} for token in sorted(set(tokens))]
    session.execute(insert(session, Probe).on_conflict_do_nothing(index_elements=["token"]), rows)


def take_due(session: Session, now: datetime, redispatch_after: timedelta) -> list[str]:
    """Mark a few probes as dispatched: those that are not yet, and those whose task seems lost. Send their
    tasks after the commit."""
    lost = or_(Probe.dispatched_at <= now - redispatch_after, Probe.dispatched_at > now + CLOCKS_DIFFER)
    query = (
        select(Probe.token)
        .where(Probe.claimed_at.is_(None), Probe.received_at > now - ASKED_FOR)
        .where(or_(Probe.dispatched_at.is_(None), lost))
        .order_by(Probe.received_at.desc())
        .limit(AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    tokens = list(session.scalars(query))
    if tokens:
        changed(session, update(Probe).where(Probe.token.in_(tokens)).values(dispatched_at=now))
    return tokens


def undispatch(session: Session, tokens: Collection[str]) -> None:
    """Take back the mark of tasks that were not sent."""
    statement = update(Probe).where(Probe.token.in_(tokens), Probe.claimed_at.is_(None))
    changed(session, statement.values(dispatched_at=None))


def claim(session: Session, token: str, owner: str) -> bool:
    """Whether this was the first to claim the probe, which somebody still waits for."""
    values = fitted(Probe, claimed_by=owner) | {"claimed_at": clock.now(session)}
    unclaimed = update(Probe).where(Probe.token == token, Probe.claimed_at.is_(None))
    return changed(session, unclaimed.values(values)) == 1


def look(session: Session, token: str) -> Stamps | None:
    """How far it has come; None while no intake has stored it."""
    query = select(Probe.received_at, Probe.dispatched_at, Probe.claimed_at, Probe.claimed_by)
    row = session.execute(query.where(Probe.token == token)).one_or_none()
    return None if row is None else Stamps(*row)


def forget(session: Session, token: str) -> None:
    session.execute(delete(Probe).where(Probe.token == token))


def held_alarms(session: Session) -> int:
    """How many alarms are being worked on by somebody who has renewed his lease in time."""
    query = select(func.count()).where(
        Alarm.status == AlarmStatus.RUNNING, Alarm.lease_until > clock.now(session)
    )
    return session.scalars(query).one()
