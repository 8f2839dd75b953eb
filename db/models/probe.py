"""A question to the line itself: whether an entry of the stream still comes to be a claimed task."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base


class Probe(Base):
    __tablename__ = "probe"

    token: Mapped[str] = mapped_column(String(64), primary_key=True)
    received_at: Mapped[datetime]
    dispatched_at: Mapped[datetime | None]
    claimed_at: Mapped[datetime | None]
    claimed_by: Mapped[str | None] = mapped_column(String(200))
