"""The plant's own data, which the tools ask: manual, roster, spare parts, equipment."""

from datetime import date, time

from sqlalchemy import String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, BigId


class ManualEntry(Base):
    """What the manual says of one fault code of one equipment class."""

    __tablename__ = "manual_entry"
    __table_args__ = (UniqueConstraint("code_key", "equipment_class"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    fault_code: Mapped[str] = mapped_column(String(100))
    code_key: Mapped[str] = mapped_column(String(100), index=True)
    equipment_class: Mapped[str] = mapped_column(String(200))
    title: Mapped[str] = mapped_column(String(300))
    symptoms: Mapped[str]
    causes: Mapped[list[str]]
    safety: Mapped[list[str]]  # lock-out notes
    steps: Mapped[list[str]]
    parts: Mapped[list[str]]  # numbers or names of suggested spare parts


class RosterEntry(Base):
    """One person on one shift of one line; times are the plant's local times.

    A shift whose end is not after its start crosses midnight and belongs to the date it begins on.
    """

    __tablename__ = "roster_entry"
    __table_args__ = (UniqueConstraint("line_name", "shift_date", "shift_name", "person"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    line_name: Mapped[str] = mapped_column(String(200))
    shift_date: Mapped[date]
    shift_name: Mapped[str] = mapped_column(String(100))
    starts: Mapped[time]
    ends: Mapped[time]
    person: Mapped[str] = mapped_column(String(200))
    phone: Mapped[str] = mapped_column(String(100))


class SparePart(Base):
    __tablename__ = "spare_part"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    number: Mapped[str] = mapped_column(String(100), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    aliases: Mapped[list[str]]
    quantity: Mapped[int]
    unit: Mapped[str] = mapped_column(String(32))
    location: Mapped[str] = mapped_column(String(200))
    minimum: Mapped[int]


class Equipment(Base):
    __tablename__ = "equipment"
    __table_args__ = (UniqueConstraint("line_name", "name"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    line_name: Mapped[str] = mapped_column(String(200), index=True)
    name: Mapped[str] = mapped_column(String(200))
    equipment_class: Mapped[str] = mapped_column(String(200))
    leader: Mapped[str] = mapped_column(String(200))  # who answers for it when nobody is on duty
