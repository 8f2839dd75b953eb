"""The one clock that leases and waits are measured by: the database's, since machines' own ones differ."""

from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session


def now(session: Session) -> datetime:
    """This moment. SQLite has no clock of its own, and no other machine: there it is the process's."""
    if session.get_bind().dialect.name == "sqlite":
        return datetime.now(UTC)
    moment: datetime = session.scalars(select(func.clock_timestamp())).one()
    return moment.astimezone(UTC)
