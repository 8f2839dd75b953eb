"""What a row of each of the four files must hold; a text may be as long as its column in the database."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date, time
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo
from pydantic_core import ErrorDetails
from sqlalchemy.orm import InstrumentedAttribute

from db.codes import normalise
from db.models import Base, Equipment, ManualEntry, RosterEntry, SparePart
from db.plant.moments import dates, end_time, start_time
from db.plant.problems import shown

MAX_TEXT_CHARACTERS = 4000
MAX_SUGGESTED_PARTS = 50
MAX_COUNT = 2**31 - 1  # what an integer column holds


def _length(column: InstrumentedAttribute[str]) -> int:
    return getattr(column.type, "length", None) or MAX_TEXT_CHARACTERS


def _required(column: InstrumentedAttribute[str]) -> Any:
    return Field(min_length=1, max_length=_length(column))


def _optional(column: InstrumentedAttribute[str]) -> Any:
    return Field(max_length=_length(column))


def _items(text: str, longest: int = MAX_TEXT_CHARACTERS) -> list[str]:
    """`a|b` is two items; so is `a｜b`, as a Chinese keyboard writes it."""
    if not text:
        return []
    items = [item.strip() for item in re.split("[|｜]", text)]
    if not all(items):
        raise ValueError("has an empty item; wants items with one | between each two")
    for item in items:
        if len(item) > longest:
            raise ValueError(f"has an item of {len(item)} characters; at most {longest} fit")
    return items


def _part_names(text: str) -> list[str]:
    return _items(text, _length(SparePart.name))


def _suggested_parts(text: str) -> list[str]:
    """Each of them is asked for at each alarm of this code."""
    names = _part_names(text)
    if len(names) > MAX_SUGGESTED_PARTS:
        raise ValueError(f"has {len(names)} items; at most {MAX_SUGGESTED_PARTS} are taken")
    return names


def _count(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,10})(?:\.0+)?", unicodedata.normalize("NFKC", text))
    if found is None or int(found[1]) > MAX_COUNT:
        raise ValueError(f"wants a whole number from 0 to {MAX_COUNT}")
    return int(found[1])


def _dates(text: str, info: ValidationInfo) -> list[date]:
    assert info.context is not None
    return dates(text, info.context["today"])


Items = Annotated[list[str], BeforeValidator(_items)]
PartNames = Annotated[list[str], BeforeValidator(_part_names)]
SuggestedParts = Annotated[list[str], BeforeValidator(_suggested_parts)]
Count = Annotated[int, BeforeValidator(_count)]


class Row(BaseModel):
    """A row of one file; it may stand for several rows of the table."""

    model_config = ConfigDict(frozen=True)

    table: ClassVar[type[Base]]
    file: ClassVar[str]
    unique: ClassVar[tuple[str, ...]]
    """The columns that no two rows of the table may have alike."""

    def values(self) -> Iterator[dict[str, Any]]:
        yield self.model_dump()


class EquipmentRow(Row):
    table = Equipment
    file = "equipment.csv"
    unique = ("line_name", "name")

    line_name: str = _required(Equipment.line_name)
    name: str = _required(Equipment.name)
    equipment_class: str = _required(Equipment.equipment_class)
    leader: str = _required(Equipment.leader)


class ManualRow(Row):
    table = ManualEntry
    file = "manual.csv"
    unique = ("code_key", "equipment_class")

    fault_code: str = _required(ManualEntry.fault_code)
    equipment_class: str = _required(ManualEntry.equipment_class)
    title: str = _required(ManualEntry.title)
    symptoms: str = _optional(ManualEntry.symptoms)
    causes: Items
    safety: Items
    steps: Items
    parts: SuggestedParts

    def values(self) -> Iterator[dict[str, Any]]:
        yield self.model_dump() | {"code_key": normalise(self.fault_code)}


class RosterRow(Row):
    table = RosterEntry
    file = "roster.csv"
    unique = ("line_name", "shift_date", "shift_name", "person")

    line_name: str = _required(RosterEntry.line_name)
    shift_date: Annotated[list[date], BeforeValidator(_dates)]
    shift_name: str = _required(RosterEntry.shift_name)
    starts: Annotated[time, BeforeValidator(start_time)]
    ends: Annotated[time, BeforeValidator(end_time)]
    person: str = _required(RosterEntry.person)
    phone: str = _optional(RosterEntry.phone)

    def values(self) -> Iterator[dict[str, Any]]:
        facts = self.model_dump()
        for day in self.shift_date:
            yield facts | {"shift_date": day}


class PartRow(Row):
    table = SparePart
    file = "spare_parts.csv"
    unique = ("number",)

    number: str = _required(SparePart.number)
    name: str = _required(SparePart.name)
    aliases: PartNames
    quantity: Count
    unit: str = _required(SparePart.unit)
    location: str = _optional(SparePart.location)
    minimum: Count


def complaint(error: ErrorDetails) -> str:
    """What is wrong with a cell and what is wanted, in our words."""
    value, facts = str(error["input"]), error.get("ctx", {})
    if error["type"] == "string_too_long":
        return f"is {len(value)} characters long; at most {facts['max_length']} fit"
    said = str(facts.get("error", ""))
    if not value:
        return "is empty; wants" + (said.partition("wants")[2] or " text")
    return f"is {shown(value)}{'; ' if said.startswith('wants') else ', which '}{said}"
