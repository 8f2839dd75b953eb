"""Step 4: the work order, settled in one transaction with its steps, parts and follow-ups."""

from datetime import UTC, datetime

from langchain.tools import ToolRuntime, tool

from db.queries.settle import settle
from tools.catalogue import listed, text
from tools.context import AlarmContext
from tools.draft import draft_order
from tools.result import OrderFacts, ToolResult


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
                ledger.order_refusals += 1
                return refusal
            draft = draft_order(context, diagnosis, actions, datetime.now(UTC))
            alarm, zone = context.alarm, context.plant.zone
            ledger.order_id = await context.sources.write(
                lambda session: settle(session, alarm.id, alarm.attempt, draft, datetime.now(UTC), zone)
            )
        return ToolResult.success(
            text(language, "order.made", order_id=ledger.order_id),
            text(language, "order.made_next"),
            OrderFacts(order_id=ledger.order_id),
        )


def _refusal(context: AlarmContext, diagnosis: str, actions: list[str]) -> ToolResult | None:
    language = context.language
    still_open = context.ledger.open_questions()
    if still_open:
        steps = listed(language, [f"{question.step} ({question.subject})" for question in still_open])
        return ToolResult.invalid(
            text(language, "order.open", steps=steps), text(language, "order.open_next")
        )
    if not diagnosis or not actions:
        return ToolResult.invalid(text(language, "order.blank"), text(language, "order.blank_next"))
    return None
