"""What an attempt at an alarm leaves behind."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from db.models import AgentRun
from db.queries.rows import changed, fitted


def store_trace(
    session: Session, alarm_id: int, attempt: int, trace: Sequence[dict[str, Any]], **cost: Any
) -> bool:
    """Keep the account of an attempt and what it cost (as the columns are named), however it ended; False
    when there is no such attempt."""
    own = update(AgentRun).where(AgentRun.alarm_id == alarm_id, AgentRun.attempt == attempt)
    return changed(session, own.values(fitted(AgentRun, trace=list(trace), **cost))) == 1
