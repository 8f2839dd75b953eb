"""What the three look-ups share: the source is asked, and the answer goes into the ledger."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy.orm import Session

from tools.catalogue import text
from tools.context import AlarmContext
from tools.ledger import Question
from tools.result import ToolResult
from tools.sources import SourceDownError

Rows = TypeVar("Rows")


@dataclass(frozen=True)
class Search(Generic[Rows]):
    """What is left where nothing stands under the very name: to read all there is, and to compare."""

    read: Callable[[Session], Rows]
    answer: Callable[[Rows], ToolResult]


async def look_up(
    context: AlarmContext, question: Question, answer: Callable[[Session], ToolResult | Search[Any]]
) -> ToolResult:
    """Ask the source once and record what it said; a source that is down is an answer too."""
    sources = context.sources
    try:
        result = await sources.ask(answer, question.step)
        if isinstance(result, Search):
            result = await sources.search(result.read, result.answer, question.step)
    except SourceDownError:
        source = text(context.language, f"source.{question.step}")
        result = ToolResult.unavailable(
            text(context.language, "unavailable", source=source, subject=question.subject),
            text(context.language, "unavailable.next"),
        )
    context.ledger.record(question, result)
    return result
