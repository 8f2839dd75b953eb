"""What stands on the plant: faults whose order is open, floods, and what was shelved."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, BigId, checked


class StandingStatus(StrEnum):
    OPEN = "open"
    CLOSED = "closed"  # its order has ended


class StandingAlarm(Base):
    """A fault that stands while its order is open: one row a fingerprint, however often it occurs.

    An alarm is an occurrence of the row with its fingerprint and its leader (or itself as the leader).
    """

    __tablename__ = "standing_alarm"
    __table_args__ = (
        Index(
            "uq_standing_alarm_open",
            "fingerprint",
            unique=True,
            sqlite_where=text("status = 'open'"),
            postgresql_where=text("status = 'open'"),
        ),
        Index("ix_standing_alarm_line", "line_key", "first_at"),
        Index("ix_standing_alarm_fingerprint", "fingerprint", "closed_at"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    leader_id: Mapped[int] = mapped_column(ForeignKey("alarm.id"), index=True)  # whose run makes the order
    status: Mapped[StandingStatus] = mapped_column(checked(StandingStatus))
    line_key: Mapped[str] = mapped_column(String(200))  # the line's name as it is compared
    line_name: Mapped[str] = mapped_column(String(200))
    equipment: Mapped[str] = mapped_column(String(200))
    fault_code: Mapped[str] = mapped_column(String(100))  # as the sender has it
    code_key: Mapped[str] = mapped_column(String(100))  # normalised
    severity: Mapped[int]  # the worst of its occurrences
    occurrences: Mapped[int]
    first_at: Mapped[datetime]
    last_at: Mapped[datetime]
    cleared_at: Mapped[datetime | None]  # None: active
    opened_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
    repeat_of: Mapped[int | None] = mapped_column(ForeignKey("work_order.id"))  # ended not long before


class Flood(Base):
    """A line that raises more alarms than anybody can follow: what comes on top joins its leader's order."""

    __tablename__ = "flood"
    __table_args__ = (
        Index(
            "uq_flood_open",
            "line_key",
            unique=True,
            sqlite_where=text("ended_at is null"),
            postgresql_where=text("ended_at is null"),
        ),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    line_key: Mapped[str] = mapped_column(String(200))
    line_name: Mapped[str] = mapped_column(String(200))
    leader_id: Mapped[int] = mapped_column(ForeignKey("alarm.id"), index=True)
    first_out_id: Mapped[int] = mapped_column(
        ForeignKey("alarm.id")
    )  # the first of the alarms that made it one
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class Shelving(Base):
    """A fingerprint that a person does not want to hear of for a while (ISA-18.2, shelving)."""

    __tablename__ = "shelving"
    __table_args__ = (
        Index(
            "uq_shelving_open",
            "fingerprint",
            unique=True,
            sqlite_where=text("ended_at is null"),
            postgresql_where=text("ended_at is null"),
        ),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    line_name: Mapped[str] = mapped_column(String(200))
    equipment: Mapped[str] = mapped_column(String(200))
    fault_code: Mapped[str] = mapped_column(String(100))
    until: Mapped[datetime]
    shelved_by: Mapped[str] = mapped_column(String(200))
    why: Mapped[str]
    shelved_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    ended_by: Mapped[str | None] = mapped_column(String(200))  # None: its time was over
