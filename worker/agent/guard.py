"""The guard: a question that has its final answer is answered from the ledger, never by its source again."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import AgentState, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from db.models.order import StepName
from tools.catalogue import listed, text
from tools.context import AlarmContext
from tools.ledger import LOOK_UPS, Question
from tools.result import ToolResult
from worker.agent.repair import arguments_for, shortened, was_mended
from worker.agent.written import TOOL_NAMES

Handler = Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]


class Guard(AgentMiddleware[AgentState[Any], AlarmContext]):
    """Runs around each tool call. Shared by all alarms: what it knows of one is in the run's context."""

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> ToolMessage | Command[Any]:
        answer = await self._answered(request, handler)
        _note(request, answer)
        return answer

    async def _answered(self, request: ToolCallRequest, handler: Handler) -> ToolMessage | Command[Any]:
        context = cast(AlarmContext, request.runtime.context)
        name = request.tool_call["name"]
        if request.tool is None or name not in TOOL_NAMES:
            return _message(request, _no_such_tool(context, name))
        step = StepName(name)
        given = request.tool_call["args"]
        # The runbook's own arguments are the manual's words, however many steps it has.
        own = given if context.run.by_runbook else arguments_for(step, given)
        request = request.override(tool_call={**request.tool_call, "args": own})
        mended = was_mended(request.tool_call["id"])
        if step is StepName.GENERATE_WORK_ORDER:
            context.ledger.order_repaired += mended
        if step not in LOOK_UPS or (step is StepName.QUERY_SPARE_PARTS and not own["part"].strip()):
            return await handler(request)
        question = context.ledger.question(step, own.get("part", "").strip())
        if not context.run.by_runbook:
            question.note(shortened(given))
            question.repaired += mended
        # Calls of one turn run at once: the first one asks, the others wait for its answer.
        async with question.lock:
            if question.closed:
                question.suppressed += 1
                return _message(request, _already_answered(context, question))
            return await handler(request)


def _note(request: ToolCallRequest, answer: ToolMessage | Command[Any]) -> None:
    """Into the account: what was answered, and by whom."""
    if not isinstance(answer, ToolMessage):
        return
    context, result = cast(AlarmContext, request.runtime.context), answer.artifact
    name, given = request.tool_call["name"], request.tool_call["args"]
    own = [question.result for step in LOOK_UPS if step == name for question in context.ledger.asked_in(step)]
    if not isinstance(result, ToolResult) or not result.is_final:
        by = "refusal"
    elif name == StepName.GENERATE_WORK_ORDER:
        by = "settlement"
    else:
        by = "source" if any(result is one for one in own) else "ledger"
    status = result.status if isinstance(result, ToolResult) else answer.status
    asked = arguments_for(StepName(name), given) if name == StepName.QUERY_SPARE_PARTS else {}
    context.run.trace.tool(name, asked, status, by, str(answer.content))


def _message(request: ToolCallRequest, result: ToolResult) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(result.to_text(), artifact=result, tool_call_id=call["id"], name=call["name"])


def _already_answered(context: AlarmContext, question: Question) -> ToolResult:
    """The same answer, and the one thing left to do; a source's rows are not repeated."""
    language, result = context.language, question.result
    assert result is not None
    still_open = context.ledger.open_questions()
    step = still_open[0].label if still_open else StepName.GENERATE_WORK_ORDER.value
    return result.model_copy(
        update={
            "message": text(language, "guard.closed") + result.message,
            "suggestion": text(language, "guard.next", step=step),
        }
    )


def _no_such_tool(context: AlarmContext, name: str) -> ToolResult:
    language = context.language
    return ToolResult.invalid(
        text(language, "guard.no_such_tool", name=name[:100]),
        text(language, "guard.tools", tools=listed(language, [step.value for step in StepName])),
    )
