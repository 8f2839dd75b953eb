"""What the tests of `alarm-worker rejected` share: rows as an intake leaves them, and the command."""

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select
from typer.testing import CliRunner, Result

from db.models import RejectedAlarm
from db.models.alarm import RejectReason
from db.queries.alarms.intake import Unreadable, accept
from db.session import Database
from worker.cli import app


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["rejected", *arguments])


def listed(*options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(call("list", "--json", *options).stdout)
    return found


def reject(
    database: Database, entry_id: str, raw: bytes, reason: RejectReason = RejectReason.NOT_UTF8
) -> str:
    """The id of the row, as one types it."""
    unreadable = Unreadable(entry_id, raw, reason, "is not UTF-8 from byte 3 on")
    with database.writing() as session:
        accept(session, [], [unreadable], datetime(2026, 8, 4, 2, 30, tzinfo=UTC))
    with database.reading() as session:
        return str(session.scalars(select(RejectedAlarm.id).where(RejectedAlarm.entry_id == entry_id)).one())
