"""What the tools ask of the plant's data."""

from collections.abc import Collection, Sequence
from datetime import date
from typing import NamedTuple

from sqlalchemy import exists, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.codes import comparable
from db.models import Equipment, ManualEntry, RosterEntry, SparePart


def manual_by_code(session: Session, code_key: str) -> list[ManualEntry]:
    """The entries of a normalised code: one for each equipment class that has it."""
    query = select(ManualEntry).where(ManualEntry.code_key == code_key)
    return list(session.scalars(query.order_by(ManualEntry.equipment_class, ManualEntry.id)).all())


def manual_all(session: Session) -> list[ManualEntry]:
    return list(session.scalars(select(ManualEntry).order_by(ManualEntry.id)).all())


def manual_classes(session: Session) -> list[str]:
    """Every equipment class that the manual knows."""
    return list(session.scalars(select(ManualEntry.equipment_class).distinct()))


def code_keys(session: Session) -> list[str]:
    """Every normalised code that the manual knows."""
    return list(session.scalars(select(ManualEntry.code_key).distinct()))


def line_names(session: Session, with_roster: bool = True) -> list[str]:
    """Every line that has equipment or, `with_roster`, a shift."""
    names = set(session.scalars(select(Equipment.line_name).distinct()))
    if with_roster:
        names.update(session.scalars(select(RosterEntry.line_name).distinct()))
    return sorted(names)


def roster(session: Session, line_name: str, dates: Collection[date]) -> list[RosterEntry]:
    """Who is on which shift of the line, of the shifts that begin on one of the dates."""
    names = _spellings(session, RosterEntry.line_name, line_name)
    query = select(RosterEntry).where(RosterEntry.line_name.in_(names), RosterEntry.shift_date.in_(dates))
    order = (RosterEntry.shift_date, RosterEntry.starts, RosterEntry.shift_name, RosterEntry.id)
    return list(session.scalars(query.order_by(*order)).all())


class Part(NamedTuple):
    """A row of the store. Of a large one, objects that the session looks after take a second to make."""

    number: str
    name: str
    aliases: list[str]
    quantity: int
    unit: str
    location: str
    minimum: int


_PART = [getattr(SparePart, name) for name in Part._fields]


def parts(session: Session) -> list[Part]:
    return [Part._make(row) for row in session.execute(select(*_PART).order_by(SparePart.number))]


def parts_called(session: Session, wanted: str) -> list[Part]:
    """Those of this very number or name, by number. What only differs in how it is written is not among them:
    who writes a name as the store has it means that one."""
    query = select(*_PART).where(or_(SparePart.number == wanted, SparePart.name == wanted))
    return [Part._make(row) for row in session.execute(query.order_by(SparePart.number))]


def equipment(session: Session, line_name: str) -> list[Equipment]:
    names = _spellings(session, Equipment.line_name, line_name)
    return list(
        session.scalars(select(Equipment).where(Equipment.line_name.in_(names)).order_by(Equipment.id)).all()
    )


def is_empty(session: Session) -> bool:
    """Whether none of the plant's four tables has a row."""
    tables = (ManualEntry, RosterEntry, SparePart, Equipment)
    return not any(session.scalar(select(exists().where(table.id.is_not(None)))) for table in tables)


def _spellings(session: Session, column: InstrumentedAttribute[str], line_name: str) -> Sequence[str]:
    """The line's name as the table has it: the very name, else what differs only in how it is written.

    A name that stands there is taken alone, whatever it is asked for: `A-1` must not get the shift of `A1`.
    """
    known = session.scalars(select(column).distinct()).all()
    if line_name in known:
        return [line_name]
    key = comparable(line_name)
    return [name for name in known if comparable(name) == key]
