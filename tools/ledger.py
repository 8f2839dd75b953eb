"""What was asked and answered for one alarm: which questions are required, which are closed."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from db.codes import comparable
from db.models.order import StepName, StepStatus
from tools.result import ManualFacts, PartFacts, ToolResult

MAX_MODEL_PARTS = 5
"""Part names that a model may ask beside those the manual suggests."""

MAX_GIVEN = 10
"""Arguments of a model kept for one question; the rest are counted only."""

LOOK_UPS = (StepName.SEARCH_MANUAL, StepName.QUERY_SHIFT, StepName.QUERY_SPARE_PARTS)

_WORST_FIRST = (StepStatus.UNAVAILABLE, StepStatus.NOT_FOUND, StepStatus.INVALID, StepStatus.SUCCESS)


@dataclass(eq=False)
class Question:
    """One step asked about one subject. Closed once it has a final answer."""

    step: StepName
    subject: str
    asked: dict[str, Any]  # what the source is asked, from the alarm
    given: list[dict[str, Any]] = field(default_factory=list)  # what the model wrote, never obeyed
    result: ToolResult | None = None
    calls: int = 0  # look-ups that reached the source
    suppressed: int = 0  # calls answered from here
    repaired: int = 0  # calls that a model wrote so badly that they had to be mended
    allowed: bool = False  # to a model, as one of its own few parts
    lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    @property
    def closed(self) -> bool:
        return self.result is not None and self.result.is_final

    @property
    def label(self) -> str:
        """As it is named to a model: `query_shift (交互屏组装A线)`."""
        return f"{self.step} ({self.subject})"

    @property
    def status(self) -> StepStatus | None:
        return self.result.status if self.result is not None else None

    def name_as(self, subject: str) -> None:
        """The manual's word for it, however a model spelled it; in what was answered too."""
        if self.result is not None and self.result.status is not StepStatus.SUCCESS:
            message = self.result.message.replace(self.subject, subject)
            self.result = self.result.model_copy(update={"message": message})
        self.subject = subject

    def note(self, arguments: dict[str, Any]) -> None:
        if arguments and len(self.given) < MAX_GIVEN:
            self.given.append(arguments)


class Ledger:
    """The account of one attempt. It holds no more than the alarm's questions, so it stays small."""

    def __init__(self, code: str, line_name: str, parts_fallback: str) -> None:
        self._fixed = {StepName.SEARCH_MANUAL: code, StepName.QUERY_SHIFT: line_name}
        self.parts_fallback = parts_fallback
        self._questions: dict[tuple[StepName, str], Question] = {}
        self.news = 0  # how many final answers there are
        self.order_id: str | None = None
        self.order_calls = 0
        self.order_repaired = 0
        self.order_lock = asyncio.Lock()

    def question(self, step: StepName, subject: str = "") -> Question:
        """The question of that step about that subject; the manual and the shift have one each.
        Subjects that differ in spelling alone are one."""
        subject = self._fixed.get(step, subject)
        key = (step, comparable(subject))
        if key not in self._questions:
            self._questions[key] = Question(step, subject, self._asked(step, subject))
        return self._questions[key]

    def _asked(self, step: StepName, subject: str) -> dict[str, Any]:
        names = {
            StepName.SEARCH_MANUAL: "fault_code",
            StepName.QUERY_SHIFT: "line_name",
            StepName.QUERY_SPARE_PARTS: "part",
        }
        return {names[step]: subject}

    def asked_in(self, step: StepName) -> list[Question]:
        """Every question of a step, required or not, in the order they came up."""
        return [question for question in self._questions.values() if question.step is step]

    def record(self, question: Question, result: ToolResult) -> None:
        """Take an answer of the source. A final one closes the question and counts as news."""
        question.calls += 1
        if result.is_final and not question.closed:
            self.news += 1
        question.result = result

    @property
    def manual(self) -> ManualFacts | None:
        result = self.question(StepName.SEARCH_MANUAL).result
        return result.facts if result is not None and isinstance(result.facts, ManualFacts) else None

    def required(self, step: StepName) -> list[Question]:
        """The questions that decide a step: the code, the line, and each part that the manual
        suggests (no manual entry: the equipment). Empty for parts until the manual has answered,
        and when its entry suggests none."""
        if step in self._fixed:
            return [self.question(step)]
        if not self.question(StepName.SEARCH_MANUAL).closed:
            return []
        manual = self.manual
        if manual is None:
            return [self._part(self.parts_fallback)]
        found: list[Question] = []
        for name in dict.fromkeys(part for entry in manual.entries for part in entry.parts):
            question = self._part(name)
            if question not in found:
                question.name_as(name)
                found.append(question)
        return found

    def _part(self, name: str) -> Question:
        """The question about a part; one that was answered with this very part serves as well. Who asked for
        a number has not heard which other parts have its name."""
        wanted = comparable(name)
        for question in self.asked_in(StepName.QUERY_SPARE_PARTS):
            facts = question.result.facts if question.result is not None else None
            if isinstance(facts, PartFacts) and wanted in _answers(facts):
                return question
        return self.question(StepName.QUERY_SPARE_PARTS, name)

    def open_questions(self) -> list[Question]:
        """The required questions without a final answer, in the order of the procedure."""
        return [q for step in LOOK_UPS for q in self.required(step) if not q.closed]

    def may_ask_part(self, subject: str) -> bool:
        """Whether a model may still ask for this part: a few of its own, the required ones always."""
        required = self.required(StepName.QUERY_SPARE_PARTS)
        question = self.question(StepName.QUERY_SPARE_PARTS, subject)
        if question in required or question.closed:
            return True
        # Counted when they are let through: the calls of one turn run before the first has its answer.
        own = [q for q in self.asked_in(StepName.QUERY_SPARE_PARTS) if q.allowed and q not in required]
        if question in own or len(own) < MAX_MODEL_PARTS:
            question.allowed = True
            return True
        if question.calls == 0:
            self._forget(question)
        return False

    def _forget(self, question: Question) -> None:
        self._questions = {key: q for key, q in self._questions.items() if q is not question}

    def status(self, step: StepName) -> StepStatus:
        """The worst status among a step's required questions; with none to ask it is a success."""
        return worst(q.status or StepStatus.UNAVAILABLE for q in self.required(step))


def worst(statuses: Iterable[StepStatus]) -> StepStatus:
    found = set(statuses)
    return next((status for status in _WORST_FIRST if status in found), StepStatus.SUCCESS)


def _answers(facts: PartFacts) -> set[str]:
    """What the answer is the answer to, whoever asked."""
    called = {comparable(facts.matched_as)}
    return called if facts.others else called | {comparable(facts.number)}
