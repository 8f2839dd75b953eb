"""A fact that a person must supply; one row a fact, however many orders lack it."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Column, ForeignKey, Index, String, Table, text
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, BigId, checked
from db.models.order import StepName


class FollowUpKind(StrEnum):
    MISSING = "missing"  # asked, and there is none
    AMBIGUOUS = "ambiguous"  # answered, but a person must say which answer is right
    SOURCE_DOWN = "source_down"  # could not be asked


class FollowUpStatus(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"


follow_up_order = Table(
    "follow_up_order",
    Base.metadata,
    Column("follow_up_id", ForeignKey("follow_up.id"), primary_key=True),
    Column("work_order_id", ForeignKey("work_order.id"), primary_key=True, index=True),
)


class FollowUp(Base):
    __tablename__ = "follow_up"
    __table_args__ = (
        Index(
            "uq_follow_up_open",
            "kind",
            "step",
            "subject_key",
            unique=True,
            sqlite_where=text("status = 'open'"),
            postgresql_where=text("status = 'open'"),
        ),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    kind: Mapped[FollowUpKind] = mapped_column(checked(FollowUpKind))
    step: Mapped[StepName] = mapped_column(checked(StepName))
    subject: Mapped[str] = mapped_column(String(300))  # as a person reads it
    subject_key: Mapped[str] = mapped_column(String(300))  # as it is compared
    status: Mapped[FollowUpStatus] = mapped_column(checked(FollowUpStatus), index=True)
    owner: Mapped[str] = mapped_column(String(200))  # who must supply the fact
    reason: Mapped[str]
    opened_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
    closed_by: Mapped[str | None] = mapped_column(String(200))
    note: Mapped[str | None]
