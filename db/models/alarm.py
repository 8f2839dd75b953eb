"""An equipment alarm, the attempts made at it, and what could not be read as one."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, ForeignKey, Index, LargeBinary, String, UniqueConstraint, func, text
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, BigId, checked


class AlarmState(StrEnum):
    """What the event says of the fault."""

    ACTIVE = "active"
    CLEARED = "cleared"


class AlarmStatus(StrEnum):
    """Where an alarm stands on its way to a work order."""

    WAITING = "waiting"  # accepted; a task may be sent from next_attempt_at on
    DISPATCHED = "dispatched"  # a Celery task that names it was sent at dispatched_at
    RUNNING = "running"  # claimed by lease_owner until lease_until
    POISON = "poison"  # set aside: three attempts came to nothing; the runbook alone tries, ever later
    SETTLED = "settled"  # its work order stands
    ATTACHED = "attached"  # an occurrence of its leader's order
    SHELVED = "shelved"  # its fingerprint was shelved when it came
    STORED = "stored"  # a cleared or historical event: kept, makes no order


OPEN = (AlarmStatus.WAITING, AlarmStatus.DISPATCHED, AlarmStatus.RUNNING, AlarmStatus.POISON)
"""On the way to an order of its own."""

OPEN_IN_SQL = f"({', '.join(repr(status.value) for status in OPEN)})"
"""The same in SQL. Both databases use the index of open alarms only for its condition word for word."""


class Alarm(Base):
    __tablename__ = "alarm"
    __table_args__ = (
        UniqueConstraint("source", "event_id"),
        Index(
            "ix_alarm_open",
            "status",
            "severity",
            "id",
            sqlite_where=text(f"status in {OPEN_IN_SQL}"),
            postgresql_where=text(f"status in {OPEN_IN_SQL}"),
        ),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    source: Mapped[str] = mapped_column(String(200))
    event_id: Mapped[str] = mapped_column(String(200), index=True)
    content_digest: Mapped[str] = mapped_column(String(64))
    line_name: Mapped[str] = mapped_column(String(200), index=True)
    equipment: Mapped[str] = mapped_column(String(200))  # '' when the sender named none
    equipment_class: Mapped[str] = mapped_column(String(200))  # '' likewise
    fault_code: Mapped[str] = mapped_column(String(100))  # as the sender has it
    code_key: Mapped[str] = mapped_column(String(100))  # normalised, db.codes
    fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    severity: Mapped[int]
    state: Mapped[AlarmState] = mapped_column(checked(AlarmState))
    message: Mapped[str]
    occurred_at: Mapped[datetime]
    attributes: Mapped[dict[str, Any]]
    received_at: Mapped[datetime]

    status: Mapped[AlarmStatus] = mapped_column(checked(AlarmStatus))
    next_attempt_at: Mapped[datetime]
    dispatched_at: Mapped[datetime | None]
    attempt: Mapped[int] = mapped_column(default=0)  # the fence: counts every claim
    failures: Mapped[int] = mapped_column(default=0)  # attempts that ended without an order
    lease_owner: Mapped[str | None] = mapped_column(String(200))
    lease_until: Mapped[datetime | None]
    work_order_id: Mapped[int | None] = mapped_column(ForeignKey("work_order.id"), index=True)  # opened by it
    lease_seconds: Mapped[float | None]  # its length, by which a clock that was set back is noticed
    urgency: Mapped[int | None]  # the worst severity of all that it leads; None: its own
    leader_id: Mapped[int | None] = mapped_column(ForeignKey("alarm.id"), index=True)  # part of its order
    shelving_id: Mapped[int | None] = mapped_column(ForeignKey("shelving.id"), index=True)


URGENCY: ColumnElement[int] = func.coalesce(Alarm.urgency, Alarm.severity)
"""How severe an alarm is with all that it leads."""


class RunOutcome(StrEnum):
    """How an attempt ended."""

    RUNNING = "running"
    SETTLED = "settled"
    FAILED = "failed"  # ended without a settlement; counted
    GIVEN_BACK = "given_back"  # a clean stop; not counted
    LAPSED = "lapsed"  # another attempt began after its lease ran out


class AgentRun(Base):
    """One attempt at one alarm: who made it, how it ended and what it cost."""

    __tablename__ = "agent_run"
    __table_args__ = (UniqueConstraint("alarm_id", "attempt"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    alarm_id: Mapped[int] = mapped_column(ForeignKey("alarm.id"))
    attempt: Mapped[int]
    owner: Mapped[str] = mapped_column(String(200))
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[RunOutcome] = mapped_column(checked(RunOutcome))
    planner: Mapped[str | None] = mapped_column(String(200))
    handover_reason: Mapped[str | None] = mapped_column(String(200))
    model_calls: Mapped[int] = mapped_column(default=0)
    input_tokens: Mapped[int] = mapped_column(default=0)
    output_tokens: Mapped[int] = mapped_column(default=0)
    error: Mapped[str | None] = mapped_column(String(200))  # a type's name, never an endpoint's text
    trace: Mapped[list[Any] | None] = mapped_column(deferred=True)  # the account, up to 64 KiB of JSON


class RejectReason(StrEnum):
    """Why a stream entry could not become an alarm."""

    NO_EVENT_FIELD = "no_event_field"
    TOO_LARGE = "too_large"
    NOT_UTF8 = "not_utf8"
    NOT_JSON = "not_json"
    INVALID = "invalid"
    ID_REUSED = "id_reused"
    NOT_A_TASK = "not_a_task"  # it lay on Celery's own list


class RejectedStatus(StrEnum):
    OPEN = "open"
    RETRIED = "retried"  # pushed onto the stream again
    DROPPED = "dropped"  # a person said that it is worth nothing


class RejectedAlarm(Base):
    """A stream entry that could not be read, with its bytes (at most 64 KiB of them) and the reason."""

    __tablename__ = "rejected_alarm"
    __table_args__ = (UniqueConstraint("entry_id", "raw_digest"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    entry_id: Mapped[str] = mapped_column(String(64))
    raw: Mapped[bytes] = mapped_column(LargeBinary)
    raw_bytes: Mapped[int]  # size before the cut
    raw_digest: Mapped[str] = mapped_column(String(64))
    reason: Mapped[RejectReason] = mapped_column(checked(RejectReason))
    detail: Mapped[str]
    received_at: Mapped[datetime]
    status: Mapped[RejectedStatus] = mapped_column(
        checked(RejectedStatus), server_default=RejectedStatus.OPEN.value, index=True
    )
    closed_at: Mapped[datetime | None]
    closed_by: Mapped[str | None] = mapped_column(String(200))
