"""What one attempt at one alarm carries through the agent: its facts, its ledger, its counters."""

from dataclasses import dataclass, field
from datetime import datetime

from db.codes import comparable
from db.models.order import RUNBOOK
from db.models.plant import Equipment
from db.queries.alarms.lease import ClaimedAlarm
from db.settings import Language, PlantSettings
from tools.ledger import Ledger
from tools.sources import Sources
from tools.trace import Trace


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
    reminded: bool = False
    trace: Trace = field(default_factory=Trace)

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
    def of(cls, alarm: ClaimedAlarm, plant: PlantSettings, sources: Sources) -> "AlarmContext":
        """As the alarm has it; what the plant's equipment list knows is learned next."""
        context = cls(
            alarm=alarm,
            plant=plant,
            sources=sources,
            equipment_class=alarm.equipment_class,
            leader=None,
            ledger=Ledger(alarm.code_key, alarm.line_name, parts_fallback=alarm.code_key),
        )
        context.learn([])
        return context

    def learn(self, known: list[Equipment]) -> None:
        """Take what the equipment list says of the alarm's line (nothing, when it cannot be read), before the
        first question is asked."""
        alarm, key = self.alarm, comparable(self.alarm.equipment)
        spelled_alike = [item for item in known if comparable(item.name) == key]
        own = next((item for item in spelled_alike if item.name == alarm.equipment), None)
        own = own or next(iter(spelled_alike), None)
        answering = own or next(iter(known), None)
        self.leader = answering.leader if answering else None
        self.equipment_class = alarm.equipment_class or (own.equipment_class if own else "")
        self.ledger.parts_fallback = alarm.equipment or self.equipment_class or alarm.code_key
