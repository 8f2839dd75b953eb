"""The order as the alarm and the ledger have it; of a model's words only the diagnosis and the actions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from db.codes import comparable
from db.models.follow_up import FollowUpKind
from db.models.order import StepName, StepStatus
from db.queries.alarms.settle import FollowUpDraft, OrderDraft, PartDraft, StepDraft
from tools.catalogue import listed, text
from tools.context import AlarmContext
from tools.flags import Flag
from tools.ledger import LOOK_UPS, Question
from tools.result import Facts, ManualFacts, OnDuty, PartFacts, ShiftFacts


def draft_order(
    context: AlarmContext, diagnosis: str, actions: list[str], now: datetime, flags: Sequence[Flag] = ()
) -> OrderDraft:
    """Everything the settlement writes, as of `now` (aware)."""
    manual, run = context.ledger.manual, context.run
    entries = manual.entries if manual is not None else []
    at_alarm, at_order = _duties(context, now)
    return OrderDraft(
        diagnosis=diagnosis,
        actions=actions,
        diagnosis_flags=flags,
        causes=_merged([entry.causes for entry in entries]),
        safety=_merged([entry.safety for entry in entries]),
        assignee=at_order[0].person if at_order else context.leader,
        shift=_shift(at_alarm, at_order),
        planner=run.planner,
        handover_reason=run.handover_reason,
        model_calls=run.model_calls,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        steps=[*(_look_up_step(context, step) for step in LOOK_UPS), _order_step(context)],
        parts=_parts(context),
        follow_ups=_follow_ups(context),
    )


def _merged(lists: list[list[str]]) -> list[str]:
    return list(dict.fromkeys(item for items in lists for item in items))


def _duties(context: AlarmContext, now: datetime) -> tuple[list[OnDuty], list[OnDuty]]:
    """Who was on duty at the alarm, and who is as the order is written."""
    result = context.ledger.question(StepName.QUERY_SHIFT).result
    facts = result.facts if result is not None else None
    if not isinstance(facts, ShiftFacts):
        return [], []
    current = [duty for duty in facts.on_duty_now if duty.starts <= now < duty.ends]
    return facts.on_duty, current


def _shift(at_alarm: list[OnDuty], at_order: list[OnDuty]) -> dict[str, Any] | None:
    """The shift when the order is written, and beside it the alarm-time shift when it is another one."""
    if not at_alarm and not at_order:
        return None
    differs = [duty.person for duty in at_alarm] != [duty.person for duty in at_order]
    return {
        "at_order": [duty.model_dump(mode="json") for duty in at_order],
        "at_alarm": [duty.model_dump(mode="json") for duty in at_alarm] if differs else None,
    }


def _look_up_step(context: AlarmContext, step: StepName) -> StepDraft:
    language, ledger = context.language, context.ledger
    required, asked = ledger.required(step), ledger.asked_in(step)
    messages = [question.result.message for question in required if question.result is not None]
    if not messages:
        messages = [text(language, "part.none_required")]
    return StepDraft(
        step=step,
        status=ledger.status(step),
        subject=listed(language, [question.subject for question in required]),
        arguments=_arguments(required),
        message="\n".join(dict.fromkeys(messages)),
        calls=sum(question.calls for question in asked),
        suppressed_calls=sum(question.suppressed for question in asked),
        questions=[_account(question, question in required) for question in asked],
    )


def _arguments(required: list[Question]) -> dict[str, Any]:
    """What the source was asked: one value a name, or a list of them."""
    merged: dict[str, Any] = {}
    for question in required:
        for name, value in question.asked.items():
            merged.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in merged.items()}


def _account(question: Question, required: bool) -> dict[str, Any]:
    result = question.result
    return {
        "subject": question.subject,
        "required": required,
        "status": result.status.value if result is not None else None,
        "message": result.message if result is not None else None,
        "given": question.given,
        "calls": question.calls,
        "suppressed_calls": question.suppressed,
        "repaired": question.repaired,
    }


def _order_step(context: AlarmContext) -> StepDraft:
    ledger = context.ledger
    return StepDraft(
        step=StepName.GENERATE_WORK_ORDER,
        status=StepStatus.SUCCESS,
        subject=context.alarm.fault_code,
        arguments={"event_id": context.alarm.event_id},
        message=text(context.language, "order.step"),
        calls=1,
        suppressed_calls=ledger.order_calls - 1,
        questions=[_order_account(context)],
    )


def _order_account(context: AlarmContext) -> dict[str, Any]:
    ledger = context.ledger
    return {
        "subject": context.alarm.fault_code,
        "required": True,
        "status": StepStatus.SUCCESS.value,
        "message": text(context.language, "order.step"),
        "given": [],
        "calls": 1,
        "suppressed_calls": ledger.order_calls - 1,
        "repaired": ledger.order_repaired,
    }


def _parts(context: AlarmContext) -> list[PartDraft]:
    """Each part that was found, once; those that the manual suggests first."""
    ledger = context.ledger
    required = ledger.required(StepName.QUERY_SPARE_PARTS)
    others = [
        question for question in ledger.asked_in(StepName.QUERY_SPARE_PARTS) if question not in required
    ]
    parts: dict[str, PartFacts] = {}
    for question in (*required, *others):
        facts = question.result.facts if question.result is not None else None
        if isinstance(facts, PartFacts):
            parts.setdefault(facts.number, facts)
    return [PartDraft(**facts.model_dump(exclude={"minimum", "others"})) for facts in parts.values()]


def _follow_ups(context: AlarmContext) -> list[FollowUpDraft]:
    """One for each required question without a clear answer, and who must supply it."""
    ledger = context.ledger
    drafts = [_follow_up(context, question) for step in LOOK_UPS for question in ledger.required(step)]
    return [draft for draft in drafts if draft is not None]


def _must_be_chosen(facts: Facts | None) -> bool:
    if isinstance(facts, PartFacts):
        return bool(facts.others)
    return isinstance(facts, ManualFacts) and facts.ambiguous


def _follow_up(context: AlarmContext, question: Question) -> FollowUpDraft | None:
    result = question.result
    if result is None:
        return None
    owner = f"owner.{question.step}"
    if result.status is StepStatus.UNAVAILABLE:
        kind, owner = FollowUpKind.SOURCE_DOWN, "owner.source_down"
    elif result.status is StepStatus.NOT_FOUND:
        kind = FollowUpKind.MISSING
    elif _must_be_chosen(result.facts):
        kind = FollowUpKind.AMBIGUOUS
    else:
        return None
    subject = question.subject
    if question.step is StepName.SEARCH_MANUAL and context.equipment_class:
        subject = f"{subject} ({context.equipment_class})"  # the same code of another class is another fact
    return FollowUpDraft(
        kind=kind,
        step=question.step,
        subject=subject,
        subject_key=comparable(subject),
        owner=text(context.language, owner),
        reason=result.message,
    )
