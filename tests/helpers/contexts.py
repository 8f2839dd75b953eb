"""Facts for the tools' tests: a claimed alarm, its context, and rows of the plant's tables."""

from collections.abc import Sequence
from datetime import date, time
from typing import Any, cast

from db.codes import normalise
from db.models.plant import Equipment, ManualEntry, RosterEntry, SparePart
from db.queries.alarms.lease import ClaimedAlarm
from db.session import Database
from db.settings import Language, PlantSettings
from tests.helpers.support import NOW
from tools.context import AlarmContext
from tools.result import ManualFacts, ManualItem, PartFacts, ToolResult
from tools.sources import Sources

LINE = "交互屏组装A线"


def a_claimed_alarm(**overrides: Any) -> ClaimedAlarm:
    """E401 on 交互屏贴合机A1, held by its first attempt."""
    facts: dict[str, Any] = {
        "id": 1,
        "attempt": 1,
        "failures": 0,
        "source": "plc-7",
        "event_id": "event-1",
        "line_name": LINE,
        "equipment": "交互屏贴合机A1",
        "equipment_class": "贴合机",
        "fault_code": "E401",
        "severity": 700,
        "message": "触摸屏无响应",
        "occurred_at": NOW,
        "attributes": {},
    } | overrides
    return ClaimedAlarm(code_key=normalise(facts["fault_code"]), **facts)


def a_context(
    database: Database,
    language: Language = "zh",
    zone: str = "Asia/Shanghai",
    known: list[Equipment] | None = None,
    **alarm: Any,
) -> AlarmContext:
    """The context of one attempt; `known` is what the equipment list has of the alarm's line."""
    settings = PlantSettings(_env_file=None, plant_language=language, plant_timezone=zone)
    context = AlarmContext.of(a_claimed_alarm(**alarm), settings, Sources(database))
    context.learn(known or [])
    return context


def a_part(number: str, name: str, *aliases: str, quantity: int = 5, minimum: int = 2) -> SparePart:
    return SparePart(
        number=number,
        name=name,
        aliases=list(aliases),
        quantity=quantity,
        unit="件",
        location="A-01-02",
        minimum=minimum,
    )


def a_shift(day: str, name: str, starts: str, ends: str, person: str, line: str = LINE) -> RosterEntry:
    return RosterEntry(
        line_name=line,
        shift_date=date.fromisoformat(day),
        shift_name=name,
        starts=time.fromisoformat(starts),
        ends=time.fromisoformat(ends),
        person=person,
        phone="13800000000",
    )


def an_entry(
    fault_code: str, equipment_class: str, title: str, symptoms: str = "", **lists: Any
) -> ManualEntry:
    """A manual's entry with one cause, one safety note and one step, unless others are given."""
    given = {"causes": ["原因"], "safety": ["上锁挂牌"], "steps": ["检查"], "parts": []} | lists
    return ManualEntry(
        fault_code=fault_code,
        code_key=normalise(fault_code),
        equipment_class=equipment_class,
        title=title,
        symptoms=symptoms,
        **given,
    )


def manual_of(*parts: str, ambiguous: bool = False) -> ToolResult:
    """The manual's answer, with an entry that suggests these parts."""
    item = ManualItem(
        fault_code="E401", equipment_class="贴合机", title="触摸屏失灵", causes=["排线松动"],
        safety=["上锁挂牌"], steps=["检查排线"], parts=list(parts),
    )  # fmt: skip
    return ToolResult.success(
        "有", "继续", ManualFacts(entries=[item], matched_by="code", ambiguous=ambiguous)
    )


def part_of(
    number: str, name: str, matched_as: str | None = None, quantity: int = 5, others: Sequence[str] = ()
) -> ToolResult:
    """The spare parts store's answer."""
    facts = PartFacts(
        number=number, name=name, matched_as=matched_as or name, score=100.0, quantity=quantity, unit="件",
        location="A-01", minimum=2, below_minimum=quantity < 2, others=list(others),
    )  # fmt: skip
    return ToolResult.success("有", "继续", facts)


def a_context_without_sources(**given: Any) -> AlarmContext:
    """For what never asks a source."""
    return a_context(cast(Database, None), **given)
