"""What one run costs and how it ends, measured around any agent."""

import asyncio
from contextvars import ContextVar
from typing import Any

import httpx2
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import LLMResult
from langchain_core.runnables import RunnableConfig

from tools.context import AlarmContext
from worker.agent.graph import Agent
from worker.agent.handover import count_tokens

RECURSION_LIMIT = 25
"""Of LangGraph, for plain set-ups: 12 turns of the model. `create_agent` itself would allow 9,999 steps."""

_current: ContextVar["Metered"] = ContextVar("_current")


class NoOrderError(Exception):
    """Raised when a plain agent ended as if it had done its work, and there is no order."""


class Metered:
    """Stands in the agent's place for one alarm: the same run, and what it came to."""

    def __init__(self, agent: Agent, plain: bool, deadline_seconds: float) -> None:
        self._agent = agent
        self._plain = plain
        self._deadline_seconds = deadline_seconds
        self.context: AlarmContext | None = None
        self.requests = 0
        self.error: str | None = None  # the type of what ended the run

    async def ainvoke(self, state: Any, config: RunnableConfig, *, context: AlarmContext) -> Any:
        self.context = context
        _current.set(self)
        try:
            if not self._plain:  # it bounds itself
                return await self._agent.ainvoke(state, config, context=context)
            own = RunnableConfig(recursion_limit=RECURSION_LIMIT, callbacks=[_Tokens(context)])
            async with asyncio.timeout(self._deadline_seconds):
                result = await self._agent.ainvoke(state, own, context=context)
            if context.ledger.order_id is None:
                raise NoOrderError
        except BaseException as error:
            self.error = type(error).__name__
            raise
        return result


class _Tokens(AsyncCallbackHandler):
    """Counts for a plain agent what the handover counts for ours."""

    def __init__(self, context: AlarmContext) -> None:
        self._context = context

    async def on_llm_end(self, response: LLMResult, **_more: Any) -> None:
        message = getattr(response.generations[0][0], "message", None)
        if isinstance(message, AIMessage):
            count_tokens(self._context, message)


def count_requests(model: BaseChatModel) -> None:
    """From here on each request that the model's client sends is counted for the run that it is made in."""
    client: httpx2.AsyncClient = model.http_async_client  # type: ignore[attr-defined]
    client.event_hooks["request"].append(_count)


async def _count(_request: httpx2.Request) -> None:
    _current.get().requests += 1
