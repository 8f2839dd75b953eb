"""The handover: when a model is spent, stuck, failing or done too early, the runbook takes its place."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import AgentState, ModelRequest, ModelResponse, hook_config
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from db.models.order import RUNBOOK
from tools.context import AlarmContext
from worker.agent.asking import Asking, NoAnswerError
from worker.agent.prompts import reminder
from worker.agent.repair import repaired
from worker.agent.runbook import Runbook
from worker.settings import AgentSettings

logger = logging.getLogger(__name__)

MAX_TURNS_WITHOUT_NEWS = 2
MAX_TOKENS_A_CALL = 10_000_000

Handler = Callable[[ModelRequest[AlarmContext]], Awaitable[ModelResponse[Any]]]


class Handover(AgentMiddleware[AgentState[Any], AlarmContext]):
    """Runs around each model call and at the one exit that every normal ending passes."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._asking = Asking(settings)
        self._runbook = Runbook()

    @hook_config(can_jump_to=["end"])
    async def abefore_model(
        self, state: AgentState[Any], runtime: Runtime[AlarmContext]
    ) -> dict[str, Any] | None:
        """Once the order stands the run ends, with no further model call."""
        return {"jump_to": "end"} if runtime.context.ledger.order_id is not None else None

    async def awrap_model_call(
        self, request: ModelRequest[AlarmContext], handler: Handler
    ) -> ModelResponse[Any]:
        context = request.runtime.context
        self._count_turn(context)
        if not context.run.by_runbook:
            reason = self._reason(context)
            if reason is None:
                try:
                    return await self._asking.answer(context, lambda: _model_turn(request, handler))
                except NoAnswerError as error:
                    reason = error.reason
            hand_over(context, reason)
        response = await handler(request.override(model=self._runbook))
        said = response.result[-1]
        assert isinstance(said, AIMessage)
        context.run.trace.model(RUNBOOK, None, said)
        return response

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(
        self, state: AgentState[Any], runtime: Runtime[AlarmContext]
    ) -> dict[str, Any] | None:
        """A model that stops before the order stands is reminded once, then handed over."""
        context = runtime.context
        if context.ledger.order_id is not None:
            return None
        if context.run.reminded:
            hand_over(context, "stopped_early")
            return {"jump_to": "model"}
        context.run.reminded = True
        reminding = reminder(context)
        context.run.trace.reminder(reminding)
        return {"jump_to": "model", "messages": [HumanMessage(reminding)]}

    def _count_turn(self, context: AlarmContext) -> None:
        run, news = context.run, context.ledger.news
        if run.turns:
            run.turns_without_news = 0 if news > run.news_seen else run.turns_without_news + 1
        run.turns += 1
        run.news_seen = news

    def _reason(self, context: AlarmContext) -> str | None:
        """Why the model may not have this turn, or None."""
        run = context.run
        if run.turns_without_news >= MAX_TURNS_WITHOUT_NEWS:
            return "no_new_facts"
        if run.model_calls >= self._settings.agent_max_model_calls:
            return "model_calls_spent"
        if asyncio.get_running_loop().time() >= run.model_deadline:
            return "deadline"
        return None


async def _model_turn(request: ModelRequest[AlarmContext], handler: Handler) -> ModelResponse[Any]:
    """One request to the endpoint, and its answer made well."""
    context = request.runtime.context
    response = await handler(request)
    message = response.result[-1]
    assert isinstance(message, AIMessage)
    count_tokens(context, message)
    meant = repaired(message)
    context.run.trace.model(context.run.planner, context.run.model_calls, message, meant)
    return ModelResponse(result=[meant])


def hand_over(context: AlarmContext, reason: str) -> None:
    """From here on the runbook has the turns; a handover hides a fault, so it is logged with its reason."""
    run = context.run
    logger.warning(
        "alarm %d (%r %r): handed over from %s to the runbook after %d model calls: %s",
        context.alarm.id,
        context.alarm.line_name,
        context.alarm.fault_code,
        run.planner,
        run.model_calls,
        reason,
    )
    run.planner, run.handover_reason = RUNBOOK, reason
    run.trace.handover(reason, run.model_calls)


def count_tokens(context: AlarmContext, message: AIMessage) -> None:
    """What an endpoint says it used; nonsense is bounded, since the sum of all calls must be storable."""
    usage = message.usage_metadata
    if usage is not None:
        context.run.input_tokens += min(max(usage["input_tokens"], 0), MAX_TOKENS_A_CALL)
        context.run.output_tokens += min(max(usage["output_tokens"], 0), MAX_TOKENS_A_CALL)
