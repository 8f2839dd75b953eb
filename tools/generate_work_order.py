"""Step 4: the work order, settled in one transaction with its steps, parts and follow-ups."""

import asyncio
from datetime import UTC, datetime

from langchain.tools import ToolRuntime, tool
from sqlalchemy.orm import Session

from db.models.order import StepName, StepStatus
from db.queries import clock, plant
from db.queries.alarms.settle import settle
from tools.catalogue import listed, text
from tools.context import AlarmContext
from tools.draft import draft_order
from tools.flags import Flag, Known, Own, flags
from tools.result import OrderFacts, ToolResult
from tools.sources import BACKSTOP_SECONDS, SourceDownError


@tool(response_format="content_and_artifact")
async def generate_work_order(
    runtime: ToolRuntime[AlarmContext], diagnosis: str, actions: list[str]
) -> tuple[str, ToolResult]:
    """Make the work order. Call it last, when the manual, the shift and every part have been asked.

    Args:
        diagnosis: what is probably wrong, in a sentence or two, from the manual's entry.
        actions: what the technician is to do, one step an item, safety first.
    """
    result = await make_order(
        runtime.context, diagnosis.strip(), [item.strip() for item in actions if item.strip()]
    )
    return result.to_text(), result


async def make_order(context: AlarmContext, diagnosis: str, actions: list[str]) -> ToolResult:
    """The order, or `invalid` while look-ups are open; called again, the same order.

    An error of the settlement leaves this function: it ends the attempt, and the alarm is tried again.
    """
    language, ledger = context.language, context.ledger
    async with ledger.order_lock:
        ledger.order_calls += 1
        if ledger.order_id is None:
            refusal = _refusal(context, diagnosis, actions)
            if refusal is not None:
                return refusal
            flagged = [] if context.run.by_runbook else await _flags(context, diagnosis, actions)
            draft = draft_order(context, diagnosis, actions, datetime.now(UTC), flagged)
            alarm, plant = context.alarm, context.plant
            ledger.order_id = await context.sources.write(
                lambda session: settle(
                    session, alarm.id, alarm.attempt, draft, clock.now(session), plant.zone, plant.rules
                )
            )
        return ToolResult.success(
            text(language, "order.made", order_id=ledger.order_id),
            text(language, "order.made_next"),
            OrderFacts(order_id=ledger.order_id),
        )


async def _flags(context: AlarmContext, diagnosis: str, actions: list[str]) -> list[Flag]:
    """What the words of a model name that is not this alarm's. They are stored as they are."""
    try:
        async with asyncio.timeout(BACKSTOP_SECONDS):  # an order does not wait for what only flags it
            known = await context.sources.ask(lambda session: _known(context, session))
    except (SourceDownError, TimeoutError):
        known = Known()
    return await asyncio.to_thread(flags, diagnosis, actions, Own.of(context), known)


def _known(context: AlarmContext, session: Session) -> Known:
    """The plant's lines and codes, of the sources that answered this alarm."""
    down = {
        step
        for step in (StepName.SEARCH_MANUAL, StepName.QUERY_SHIFT)
        if context.ledger.status(step) is StepStatus.UNAVAILABLE
    }
    lines = plant.line_names(session, with_roster=StepName.QUERY_SHIFT not in down)
    return Known.of(lines, [] if StepName.SEARCH_MANUAL in down else plant.code_keys(session))


def _refusal(context: AlarmContext, diagnosis: str, actions: list[str]) -> ToolResult | None:
    language = context.language
    still_open = context.ledger.open_questions()
    if still_open:
        steps = listed(language, [question.label for question in still_open])
        return ToolResult.invalid(
            text(language, "order.open", steps=steps), text(language, "order.open_next")
        )
    if not diagnosis or not actions:
        return ToolResult.invalid(text(language, "order.blank"), text(language, "order.blank_next"))
    return None
