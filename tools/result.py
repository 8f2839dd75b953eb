"""What a tool answers: a status from a closed vocabulary, a message, a suggestion, and the facts."""

import json
from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from db.models.order import StepStatus

MAX_TEXT_BYTES = 8 * 1024
"""Of one result in the conversation; a manual may hold books."""
_CUTS = ((400, 40), (200, 20), (80, 12), (40, 6), (20, 2))
"""Characters of a text and items of a list, tried one after the other."""


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
    on_duty_now: list[OnDuty] = Field(exclude=True)  # and who follows soon: for the assignee, not the model


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
    others: list[str] = []  # numbers of parts that are called just the same: a person must choose


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
        """The flat JSON object, with Chinese as it is read; what is too long is cut, and it says so."""
        head = {"status": self.status.value, "message": self.message, "suggestion": self.suggestion}
        facts = self.facts.model_dump(mode="json") if self.facts is not None else {}
        written = json.dumps(head | facts, ensure_ascii=False)
        for characters, items in _CUTS:
            if len(written.encode()) <= MAX_TEXT_BYTES:
                break
            short = _cut(head | facts, characters, items) | {"truncated": True}
            written = json.dumps(short, ensure_ascii=False)
        return written


def _cut(value: Any, characters: int, items: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= characters else value[:characters] + "…"
    if isinstance(value, list):
        return [_cut(item, characters, items) for item in value[:items]]
    if isinstance(value, dict):
        return {name: _cut(item, characters, items) for name, item in value.items()}
    return value
