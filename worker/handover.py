"""The handover: when a model is spent, stuck, failing or done too early, the runbook takes its place."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import AgentState, ModelRequest, ModelResponse, hook_config
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from tools.context import RUNBOOK, AlarmContext
from worker.prompts import reminder
from worker.repair import repaired
from worker.runbook import Runbook
from worker.settings import AgentSettings

logger = logging.getLogger(__name__)

MAX_TURNS_WITHOUT_NEWS = 2
MAX_FAILURES_IN_ROW = 2
PAUSE_SECONDS = 0.2
"""Between a failed call and the next, so that a restarting endpoint gets its chance."""

Handler = Callable[[ModelRequest[AlarmContext]], Awaitable[ModelResponse[Any]]]


class Handover(AgentMiddleware[AgentState[Any], AlarmContext]):
    """Runs around each model call and at the one exit that every normal ending passes."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
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
        while not context.run.by_runbook:
            reason = self._reason(context)
            if reason is not None:
                hand_over(context, reason)
                break
            response = await self._ask_model(request, handler, context)
            if response is not None:
                return response
        return await handler(request.override(model=self._runbook))

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
        context.run.reminded = context.run.remind_next = True
        return {"jump_to": "model"}

    def _count_turn(self, context: AlarmContext) -> None:
        run, news = context.run, context.ledger.news
        if run.turns:
            run.turns_without_news = 0 if news > run.news_seen else run.turns_without_news + 1
        run.turns += 1
        run.news_seen = news

    def _reason(self, context: AlarmContext) -> str | None:
        """Why the model may not have this turn, or None."""
        run = context.run
        if run.failures_in_row >= MAX_FAILURES_IN_ROW:
            return f"model_failed: {run.last_failure}"
        if run.turns_without_news >= MAX_TURNS_WITHOUT_NEWS:
            return "no_new_facts"
        if run.model_calls >= self._settings.agent_max_model_calls:
            return "model_calls_spent"
        if asyncio.get_running_loop().time() >= run.model_deadline:
            return "deadline"
        return None

    async def _ask_model(
        self, request: ModelRequest[AlarmContext], handler: Handler, context: AlarmContext
    ) -> ModelResponse[Any] | None:
        """One request to the endpoint, counted; None when it failed."""
        run = context.run
        if run.remind_next:
            request = request.override(messages=[*request.messages, HumanMessage(reminder(context))])
        run.model_calls += 1
        left = run.model_deadline - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(min(self._settings.llm_timeout_seconds, left)):
                response = await handler(request)
            message = response.result[-1]
            assert isinstance(message, AIMessage)
            count_tokens(context, message)
            response = ModelResponse(result=[repaired(message)])
        except Exception as error:  # whatever an endpoint answers can raise anything inside the client
            run.failures_in_row += 1
            run.last_failure = type(error).__name__  # its text may hold the key
            logger.warning("alarm %d: model call failed: %s", context.alarm.id, run.last_failure)
            await asyncio.sleep(min(PAUSE_SECONDS, max(left, 0)))
            return None
        run.failures_in_row = 0
        run.remind_next = False
        return response


def hand_over(context: AlarmContext, reason: str) -> None:
    """From here on the runbook has the turns; a handover hides a fault, so it is logged with its reason."""
    run = context.run
    logger.warning(
        "alarm %d (%s %s): handed over from %s to the runbook after %d model calls: %s",
        context.alarm.id,
        context.alarm.line_name,
        context.alarm.fault_code,
        run.planner,
        run.model_calls,
        reason,
    )
    run.planner, run.handover_reason = RUNBOOK, reason


def count_tokens(context: AlarmContext, message: AIMessage) -> None:
    usage = message.usage_metadata
    if usage is not None:
        context.run.input_tokens += usage["input_tokens"]
        context.run.output_tokens += usage["output_tokens"]
