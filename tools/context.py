"""What one attempt at one alarm carries through the agent: its facts, its ledger, its counters."""

from dataclasses import dataclass, field
from datetime import datetime

from db.models.plant import Equipment
from db.queries.lease import ClaimedAlarm
from db.settings import Language, PlantSettings
from tools.ledger import Ledger
from tools.sources import Sources

RUNBOOK = "runbook"


@dataclass
class RunState:
    """The counters of one attempt. Middleware is shared by all alarms, so what counts for one is here."""

    planner: str = RUNBOOK
    handover_reason: str | None = None
    model_deadline: float = 0.0  # loop time; from then on the runbook finishes
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    turns: int = 0
    news_seen: int = 0
    turns_without_news: int = 0
    failures_in_row: int = 0
    last_failure: str | None = None  # the error type's name
    reminded: bool = False
    remind_next: bool = False

    @property
    def by_runbook(self) -> bool:
        return self.planner == RUNBOOK


@dataclass
class AlarmContext:
    """The run's context: what the alarm fixes is read from here, never from a model's arguments."""

    alarm: ClaimedAlarm
    plant: PlantSettings
    sources: Sources
    equipment_class: str  # as sent, else as the plant's equipment list has it; '' when unknown
    leader: str | None
    ledger: Ledger
    run: RunState = field(default_factory=RunState)

    @property
    def language(self) -> Language:
        return self.plant.plant_language

    @property
    def occurred_at_plant(self) -> datetime:
        return self.alarm.occurred_at.astimezone(self.plant.zone)

    @classmethod
    def of(
        cls, alarm: ClaimedAlarm, plant: PlantSettings, sources: Sources, known: list[Equipment]
    ) -> "AlarmContext":
        """`known` is the plant's equipment on the alarm's line; empty when the list cannot be read."""
        own = next((item for item in known if item.name == alarm.equipment), None)
        equipment_class = alarm.equipment_class or (own.equipment_class if own else "")
        answering = own or next(iter(known), None)
        return cls(
            alarm=alarm,
            plant=plant,
            sources=sources,
            equipment_class=equipment_class,
            leader=answering.leader if answering else None,
            ledger=Ledger(
                code=alarm.code_key,
                line_name=alarm.line_name,
                parts_fallback=alarm.equipment or equipment_class or alarm.code_key,
            ),
        )
