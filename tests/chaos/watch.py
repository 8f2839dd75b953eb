"""What the database says of the line while it is under test."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import TypeVar

from sqlalchemy import func, select, tuple_
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from db.models import AgentRun, Alarm, RejectedAlarm, WorkOrder
from db.models.alarm import OPEN, AlarmStatus, RunOutcome
from db.session import Database
from tests.chaos.feeder import Identity

T = TypeVar("T")


class Watch:
    """Questions to the database; None where it does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _ask(self, question: Callable[[Session], T]) -> T | None:
        try:
            with self._database.reading() as session:
                return question(session)
        except DBAPIError:
            return None

    def attempts(self, *statuses: AlarmStatus) -> dict[int, int]:
        """The alarms that have one of these statuses, and the number of their last attempt."""
        query = select(Alarm.id, Alarm.attempt).where(Alarm.status.in_(statuses))
        rows = self._ask(lambda session: session.execute(query).all())
        return dict(rows or ())

    def running(self, owner_ends_with: str = "") -> dict[int, int]:
        query = select(Alarm.id, Alarm.attempt).where(
            Alarm.status == AlarmStatus.RUNNING, Alarm.lease_owner.endswith(owner_ends_with, autoescape=True)
        )
        rows = self._ask(lambda session: session.execute(query).all())
        return dict(rows or ())

    def failures_of_running(self) -> list[int]:
        query = select(Alarm.failures).where(Alarm.status == AlarmStatus.RUNNING)
        return list(self._ask(lambda session: session.scalars(query).all()) or ())

    def settled_by(self, attempts: Mapping[int, int]) -> set[int]:
        """Which of these alarms were settled by that very attempt: it was in the middle of it."""
        query = select(Alarm.id, Alarm.attempt).where(
            Alarm.id.in_(attempts), Alarm.status == AlarmStatus.SETTLED
        )
        rows = self._ask(lambda session: session.execute(query).all())
        return {alarm_id for alarm_id, attempt in rows or () if attempt == attempts[alarm_id]}

    def lapsed(self, attempts: Mapping[int, int]) -> int:
        """How many of these attempts lost their lease."""
        query = select(AgentRun.alarm_id, AgentRun.attempt).where(
            AgentRun.alarm_id.in_(attempts), AgentRun.outcome == RunOutcome.LAPSED
        )
        rows = self._ask(lambda session: session.execute(query).all())
        return sum(attempts[alarm_id] == attempt for alarm_id, attempt in rows or ())

    def given_back(self) -> int:
        query = select(func.count()).select_from(AgentRun).where(AgentRun.outcome == RunOutcome.GIVEN_BACK)
        return self._ask(lambda session: session.scalars(query).one()) or 0

    def started_after(self, attempts: Mapping[int, int]) -> dict[int, datetime]:
        """When the next attempt at each of these alarms began, of those at which one did."""
        query = select(AgentRun.alarm_id, AgentRun.attempt, AgentRun.started_at).where(
            AgentRun.alarm_id.in_(attempts)
        )
        rows = self._ask(lambda session: session.execute(query.order_by(AgentRun.attempt.desc())).all())
        return {alarm_id: at for alarm_id, attempt, at in rows or () if attempt > attempts[alarm_id]}

    def order_at(self, identity: Identity) -> datetime | None:
        """When the alarm's own order was made."""
        query = select(WorkOrder.created_at).join(Alarm, Alarm.work_order_id == WorkOrder.id)
        query = query.where(tuple_(Alarm.source, Alarm.event_id) == identity)
        return self._ask(lambda session: session.scalars(query).one_or_none())

    def orders_of(self, identities: Collection[Identity]) -> int:
        """How many of these alarms have an order of their own."""
        query = select(Alarm.source, Alarm.event_id).where(Alarm.work_order_id.is_not(None))
        rows = self._ask(lambda session: session.execute(query).all())
        return len({(source, event_id) for source, event_id in rows or ()} & set(identities))

    def rejected(self) -> tuple[set[str], set[str]]:
        """The stream entries that were rejected, and the digests of what was in them."""
        query = select(RejectedAlarm.entry_id, RejectedAlarm.raw_digest)
        rows = self._ask(lambda session: session.execute(query).all()) or ()
        return {row.entry_id for row in rows}, {row.raw_digest for row in rows}

    def nothing_is_open(self) -> bool:
        """Whether no alarm in the database waits for its order."""
        query = select(func.count()).select_from(Alarm).where(Alarm.status.in_(OPEN))
        return self._ask(lambda session: session.scalars(query).one()) == 0
