"""What Alembic runs for each of its commands: one transaction, which no other process can enter."""

from typing import Any, Literal

from alembic import context

from db import migrate
from db.models import Base
from db.models.base import UtcDateTime
from db.session import Database
from db.settings import DatabaseSettings


def run() -> None:
    if context.is_offline_mode():
        raise SystemExit("andon's migrations read the database that they change; run them without --sql")
    database = context.config.attributes.get("database")
    if database is not None:
        _run_in(database)
        return
    database = Database(DatabaseSettings().database_url)
    try:
        _run_in(database)
    finally:
        database.close()


def _run_in(database: Database) -> None:
    with migrate.exclusive(database) as connection:
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            compare_server_default=True,
            autogenerate_plugins=["alembic.autogenerate.*", "alembic.ext.checkconstraint_byname"],
            render_item=_rendered,
            render_as_batch=True,  # SQLite changes a table by making it anew
        )
        with context.begin_transaction():
            context.run_migrations()


def _rendered(kind: str, item: Any, _context: object) -> str | Literal[False]:
    """A migration stays what it was when the models' own type changes."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, UtcDateTime) else False


run()
