"""Brings a database's tables to this version, and tells whether they are."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from db.errors import SchemaError
from db.models import Base
from db.session import Database, redacted

WAIT_SECONDS = 60
_POSTGRESQL_LOCK = 0x616E646F6E  # advisory locks are numbers; this one reads "andon"
_one_at_a_time = threading.Lock()  # Alembic keeps its context in a global


def config(database: Database) -> Config:
    """Alembic's configuration; the scripts are found in the package, so from an installed wheel too."""
    settings = Config(attributes={"database": database})
    settings.set_main_option("script_location", "db:migrations")
    settings.set_main_option("path_separator", "os")
    return settings


def upgrade(database: Database) -> None:
    """Brings the database to head, wholly or not at all; several processes may do so at once."""
    revision = current(database)
    if not _known(database, revision):
        raise SchemaError(_newer(database, revision))
    with _one_at_a_time:
        try:
            command.upgrade(config(database), "head")
        except DBAPIError as error:
            foreign = _foreign_tables(database)
            if not foreign:
                raise
            raise SchemaError(
                f"{redacted(database.url)} has tables that andon did not make ({', '.join(foreign)}); "
                "name an empty database in DATABASE_URL"
            ) from error


def head(database: Database) -> str:
    """The revision that this version wants."""
    revision = ScriptDirectory.from_config(config(database)).get_current_head()
    assert revision is not None
    return revision


def current(database: Database) -> str | None:
    """The revision that the database is at; None when it has no tables yet."""
    with database.reading() as session:
        return MigrationContext.configure(session.connection()).get_current_revision()


def require_head(database: Database) -> None:
    """Returns when the database is at head, else raises SchemaError, which says what to do."""
    revision, wanted = current(database), head(database)
    if revision == wanted:
        return
    if revision is None:
        raise SchemaError(f"{redacted(database.url)} has no tables yet; run `alarm-db upgrade`")
    if not _known(database, revision):
        raise SchemaError(_newer(database, revision))
    raise SchemaError(
        f"{redacted(database.url)} is at revision {revision}, this version wants {wanted}; "
        "run `alarm-db upgrade`"
    )


@contextmanager
def exclusive(database: Database) -> Iterator[Connection]:
    """A connection in one transaction, committed at its end, that only one process at a time can hold."""
    with database.engine.connect() as connection:
        if database.is_sqlite:
            yield from _exclusive_on_sqlite(connection)
        else:
            connection.execute(text(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRESQL_LOCK})
            yield connection
            connection.commit()


def _exclusive_on_sqlite(connection: Connection) -> Iterator[Connection]:
    # A table is changed by making it anew, and dropping the old one would count as deleting its rows.
    connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
        if broken:
            raise SchemaError(f"the migration would leave rows without what they refer to: {broken[:3]}")
        connection.commit()
    finally:
        connection.rollback()
        connection.exec_driver_sql("PRAGMA foreign_keys = ON")


def _known(database: Database, revision: str | None) -> bool:
    scripts = ScriptDirectory.from_config(config(database))
    return revision is None or any(script.revision == revision for script in scripts.walk_revisions())


def _newer(database: Database, revision: str | None) -> str:
    return (
        f"{redacted(database.url)} is at revision {revision}, which only a newer version of andon knows; "
        "run that version (`alarm-db upgrade` does not go back)"
    )


def _foreign_tables(database: Database) -> list[str]:
    if current(database) is not None:
        return []
    return sorted(set(Base.metadata.tables) & set(inspect(database.engine).get_table_names()))
