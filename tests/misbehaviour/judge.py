"""What makes an alarm's end right, whatever the model did."""

import json
import re
from collections import Counter
from typing import Any, Self

from sqlalchemy import select

from db.codes import comparable
from db.models import FollowUp
from db.models.order import StepName
from db.session import Database
from tests.helpers.endpoint import SECRET
from tests.misbehaviour import UNAIDED
from tests.misbehaviour.bench import End
from tools.ledger import Ledger, Question
from tools.result import ToolResult

FACTS = ("line_name", "equipment", "fault_code", "native_code", "severity", "priority", "status", "causes",
         "safety", "assignee", "shift")  # fmt: skip
STEP_FACTS = ("step", "status", "subject", "message")


def faults(end: End, perfect: End) -> list[str]:
    """What is not as it must be, in one alarm's end."""
    if not end.outcome.startswith("settled"):
        return [end.outcome]
    order, limits = end.order, end.case.limits
    own, right = essence(order), essence(perfect.order)
    found = [f"{name}: {own[name]!r} for {right[name]!r}" for name in right if own[name] != right[name]]
    required = stock(perfect.order)
    if stock(order)[: len(required)] != required:
        found.append(f"parts {order['parts']}")
    if not order["diagnosis"].strip() or not order["actions"] or not all(map(str.strip, order["actions"])):
        found.append("no diagnosis or no actions")
    # A call that the deadline cuts off may not have come to be a request.
    cut_off = int(end.case.kind.startswith("slow") and end.requests == order["model_calls"] - 1)
    if end.requests + cut_off != order["model_calls"] or end.requests > limits.agent_max_model_calls:
        found.append(f"{end.requests} requests, {order['model_calls']} counted")
    if end.seconds > limits.agent_deadline_seconds + 2:
        found.append(f"took {end.seconds} s")
    if (order["planner"] == "runbook") != (order["handover_reason"] is not None):
        found.append(f"{order['planner']}, {order['handover_reason']}")
    if end.case.name in UNAIDED and order["handover_reason"] not in (None, "model_calls_spent"):
        found.append(f"handed over: {order['handover_reason']} after {order['model_calls']} calls")
    stored = json.dumps(order, ensure_ascii=False, default=str)
    if re.search("\\\\u0000|[\ud800-\udfff]", stored) or SECRET in stored:
        found.append("stored what may not be")
    return found


def stock(order: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts, by whatever name each was asked for."""
    asked = ("matched_as", "score")
    return [{name: part[name] for name in part if name not in asked} for part in order["parts"]]


def essence(order: dict[str, Any]) -> dict[str, Any]:
    """All of an order in which no model may have a say."""
    return {name: order[name] for name in FACTS} | {
        "steps": [{name: step[name] for name in STEP_FACTS} for step in order["steps"]],
        "follow_ups": sorted((f["kind"], f["step"], f["subject"], f["owner"]) for f in order["follow_ups"]),
    }


def follow_ups(database: Database) -> set[tuple[str, str, str, str]]:
    with database.reading() as session:
        rows = session.scalars(select(FollowUp)).all()
        return {(row.kind, row.step, row.subject, row.owner) for row in rows}


class Recorded:
    """Every answer of a source that was taken into a ledger, by ledger, step and subject."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[Ledger, StepName, str]] = Counter()

    def __enter__(self) -> Self:
        record = self._record = Ledger.record

        def counting(ledger: Ledger, question: Question, result: ToolResult) -> None:
            self.answers[ledger, question.step, comparable(question.subject)] += 1
            record(ledger, question, result)

        Ledger.record = counting  # type: ignore[assignment, method-assign]
        return self

    def __exit__(self, *_exc: object) -> None:
        Ledger.record = self._record  # type: ignore[method-assign]

    @property
    def again(self) -> list[tuple[StepName, str]]:
        """What was asked more than once."""
        return [(step, subject) for (_ledger, step, subject), times in self.answers.items() if times > 1]

    def of(self, step: StepName) -> int:
        return sum(times for (_ledger, own, _subject), times in self.answers.items() if own is step)
