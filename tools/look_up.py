"""What the three look-ups share: the source is asked, and the answer goes into the ledger."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from tools.catalogue import text
from tools.context import AlarmContext
from tools.ledger import Question
from tools.result import ToolResult
from tools.sources import SourceDownError


async def look_up(
    context: AlarmContext, question: Question, answer: Callable[[Session], ToolResult]
) -> ToolResult:
    """Ask the source once and record what it said; a source that is down is an answer too."""
    try:
        result = await context.sources.ask(answer, question.step)
    except SourceDownError:
        source = text(context.language, f"source.{question.step}")
        result = ToolResult.unavailable(
            text(context.language, "unavailable", source=source, subject=question.subject),
            text(context.language, "unavailable.next"),
        )
    context.ledger.record(question, result)
    return result
