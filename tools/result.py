"""What a tool answers: a status from a closed vocabulary, a message, a suggestion, and the facts."""

import json
from datetime import datetime
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from db.models.order import StepStatus


class Facts(BaseModel):
    """The payload of a successful answer; its fields stand beside `status` in the JSON object."""

    model_config = ConfigDict(frozen=True)


class ManualItem(Facts):
    fault_code: str
    equipment_class: str
    title: str
    causes: list[str]
    safety: list[str]
    steps: list[str]
    parts: list[str]


class ManualFacts(Facts):
    """One entry when the manual is clear, several candidates when a person must choose."""

    entries: list[ManualItem]
    matched_by: str  # "code" or "symptom"
    ambiguous: bool


class OnDuty(Facts):
    """One person on one shift, from `starts` to `ends` (aware, the plant's zone)."""

    person: str
    phone: str
    shift: str
    starts: datetime
    ends: datetime


class ShiftFacts(Facts):
    on_duty: list[OnDuty]  # at the alarm's moment
    on_duty_now: list[OnDuty] = Field(exclude=True)  # for the assignee; the model is not asked about it


class PartFacts(Facts):
    number: str
    name: str
    matched_as: str  # the number, name or alias that the question met
    score: float  # 0 to 100; 100 is an exact match
    quantity: int
    unit: str
    location: str
    minimum: int
    below_minimum: bool


class OrderFacts(Facts):
    order_id: str


class ToolResult(BaseModel):
    """One answer, flat as JSON for the model's eyes, typed as the message's artifact for ours."""

    model_config = ConfigDict(frozen=True)

    status: StepStatus
    message: str
    suggestion: str
    facts: Facts | None = None

    @classmethod
    def success(cls, message: str, suggestion: str, facts: Facts) -> Self:
        return cls(status=StepStatus.SUCCESS, message=message, suggestion=suggestion, facts=facts)

    @classmethod
    def not_found(cls, message: str, suggestion: str, facts: Facts | None = None) -> Self:
        return cls(status=StepStatus.NOT_FOUND, message=message, suggestion=suggestion, facts=facts)

    @classmethod
    def invalid(cls, message: str, suggestion: str) -> Self:
        return cls(status=StepStatus.INVALID, message=message, suggestion=suggestion)

    @classmethod
    def unavailable(cls, message: str, suggestion: str) -> Self:
        return cls(status=StepStatus.UNAVAILABLE, message=message, suggestion=suggestion)

    @property
    def is_final(self) -> bool:
        """Whether it closes its question: everything but a malformed question does."""
        return self.status is not StepStatus.INVALID

    def to_text(self) -> str:
        """The flat JSON object, with Chinese as it is read."""
        head = {"status": self.status.value, "message": self.message, "suggestion": self.suggestion}
        facts = self.facts.model_dump(mode="json") if self.facts is not None else {}
        return json.dumps(head | facts, ensure_ascii=False)
