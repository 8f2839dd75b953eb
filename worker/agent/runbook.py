"""The runbook as a chat model: it reads the ledger and calls the next open step, so it always finishes."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import ToolCall, tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.runtime import get_runtime

from db.models.order import RUNBOOK, StepName
from tools.catalogue import listed, text
from tools.context import AlarmContext
from tools.result import ManualFacts

CALLS_A_TURN = 8


class Runbook(BaseChatModel):
    """Needs no conversation: what is open stands in the run's context. Its turns are not model calls."""

    @property
    def _llm_type(self) -> str:
        return RUNBOOK

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[Any, AIMessage]:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = next_turn(get_runtime(AlarmContext).context)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages)


def next_turn(context: AlarmContext) -> AIMessage:
    """The look-ups that are still open, else the order, else a closing word."""
    language, ledger = context.language, context.ledger
    if ledger.order_id is not None:
        return AIMessage(text(language, "runbook.done"))
    calls = [_call(question.step, question.asked) for question in ledger.open_questions()[:CALLS_A_TURN]]
    if not calls:
        diagnosis, actions = plan(context)
        calls = [_call(StepName.GENERATE_WORK_ORDER, {"diagnosis": diagnosis, "actions": actions})]
    steps = listed(language, list(dict.fromkeys(call["name"] for call in calls)))
    return AIMessage(text(language, "runbook.turn", steps=steps), tool_calls=calls)


def _call(step: StepName, arguments: dict[str, Any]) -> ToolCall:
    own = arguments if step in (StepName.QUERY_SPARE_PARTS, StepName.GENERATE_WORK_ORDER) else {}
    return tool_call(name=step.value, args=own, id=f"runbook-{uuid4().hex}")


def plan(context: AlarmContext) -> tuple[str, list[str]]:
    """Diagnosis and actions from the manual's own words, or what to do on site without them."""
    alarm, manual = context.alarm, context.ledger.manual
    language = context.language
    place = " ".join(filter(None, (alarm.line_name, alarm.equipment)))
    if manual is None or not manual.entries:
        return _unknown(context, place)
    entries = manual.entries
    if manual.ambiguous:
        titles = listed(language, [f"{entry.title} ({entry.equipment_class})" for entry in entries])
        key = "runbook.diagnosis_several"
        diagnosis = text(language, key, code=alarm.fault_code, titles=titles, place=place)
        return diagnosis, _candidate_actions(context, manual)
    entry = entries[0]
    causes = listed(language, entry.causes)
    key = "runbook.diagnosis"
    diagnosis = text(language, key, code=alarm.fault_code, title=entry.title, causes=causes, place=place)
    return diagnosis, [*entry.safety, *entry.steps] or _unknown(context, place)[1]


def _candidate_actions(context: AlarmContext, manual: ManualFacts) -> list[str]:
    language = context.language
    inspect = text(language, "runbook.inspect", subject=context.alarm.equipment or context.alarm.line_name)
    steps = [
        text(language, "runbook.candidate", title=entry.title, step=step)
        for entry in manual.entries
        for step in (*entry.safety, *entry.steps)
    ]
    return [inspect, *steps]


def _unknown(context: AlarmContext, place: str) -> tuple[str, list[str]]:
    alarm, language = context.alarm, context.language
    key = "runbook.diagnosis_unknown"
    diagnosis = text(language, key, code=alarm.fault_code, message=alarm.message, place=place).strip()
    actions = [
        text(language, "runbook.inspect", subject=alarm.equipment or alarm.line_name),
        text(language, "runbook.report", code=alarm.fault_code),
    ]
    return diagnosis, actions
