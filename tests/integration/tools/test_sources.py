"""A source that cannot be asked is an answer too: in a few seconds, and the next question finds it well."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from db.models.order import StepName
from db.models.plant import SparePart
from db.session import SQLITE_BUSY_SECONDS, Database
from tests.helpers.contexts import a_context
from tests.helpers.support import only_postgresql
from tools import query_shift, query_spare_parts, search_manual
from tools.context import AlarmContext
from tools.look_up import Search, look_up
from tools.result import ToolResult
from tools.sources import SourceDownError, Sources

FEW_SECONDS = 6.0
TABLES = {
    StepName.SEARCH_MANUAL: "manual_entry",
    StepName.QUERY_SHIFT: "roster_entry",
    StepName.QUERY_SPARE_PARTS: "spare_part",
}
only_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def ask(database: Database, step: StepName, context: AlarmContext | None = None) -> ToolResult:
    """One look-up of that step, as its tool does it."""
    context = context or a_context(database)
    answers: dict[StepName, Callable[[Session], ToolResult | Search[Any]]] = {
        StepName.SEARCH_MANUAL: lambda session: search_manual.answer(context, session),
        StepName.QUERY_SHIFT: lambda session: query_shift.answer(context, session, datetime.now(UTC)),
        StepName.QUERY_SPARE_PARTS: lambda session: query_spare_parts.answer(context, session, "触摸屏"),
    }
    question = context.ledger.question(step, "触摸屏")
    return asyncio.run(look_up(context, question, answers[step]))


def one(session: Session) -> int:
    return int(session.execute(text("SELECT 1")).scalar_one())


def one_part(session: Session) -> int:
    return int(session.execute(text("SELECT count(*) FROM spare_part")).scalar_one())


@contextmanager
def locked(database: Database, table: str) -> Iterator[None]:
    """PostgreSQL: another transaction has the table for itself, as a migration or a restore does."""
    with database.engine.connect() as other, other.begin():
        other.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
        yield


@pytest.mark.parametrize("step", TABLES)
def test_a_missing_table_is_unavailable_not_not_found(plant: Database, step: StepName) -> None:
    with plant.writing() as session:
        session.execute(text(f"DROP TABLE {TABLES[step]}"))
    context = a_context(plant)
    begun = time.monotonic()
    result = ask(plant, step, context)
    assert time.monotonic() - begun < FEW_SECONDS
    assert result.status == "unavailable"
    assert result.facts is None
    [question] = context.ledger.asked_in(step)
    assert question.closed, "the step is closed for this attempt, or it would be asked for ever"
    assert question.calls == 1
    others = [other for other in TABLES if other is not step]
    assert [ask(plant, other).status for other in others] != ["unavailable"] * 2


@pytest.mark.parametrize("step", TABLES)
def test_an_empty_table_is_not_found_not_unavailable(database: Database, step: StepName) -> None:
    assert ask(database, step).status == "not_found"


@only_postgresql
@pytest.mark.parametrize("step", TABLES)
def test_a_locked_table_is_unavailable_within_seconds_and_well_again_afterwards(
    plant: Database, step: StepName
) -> None:
    expected = ask(plant, step).status
    with locked(plant, TABLES[step]):
        begun = time.monotonic()
        assert ask(plant, step).status == "unavailable"
        assert time.monotonic() - begun < FEW_SECONDS
        others = [other for other in TABLES if other is not step]
        assert "unavailable" not in [ask(plant, other).status for other in others]
    assert ask(plant, step).status == expected


@only_postgresql
def test_after_a_time_out_no_statement_runs_on_and_no_connection_keeps_the_limit(database: Database) -> None:
    slow = "SELECT pg_sleep(30)"
    begun = time.monotonic()
    with pytest.raises(SourceDownError):
        asyncio.run(Sources(database).ask(lambda session: session.execute(text(slow))))
    assert time.monotonic() - begun < FEW_SECONDS
    with database.reading() as session:
        running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = :slow"
        assert session.execute(text(running), {"slow": slow}).scalar_one() == 0
        assert session.execute(text("SHOW statement_timeout")).scalar_one() == "0"
    assert database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


@only_postgresql
def test_a_connection_that_the_server_closed_is_not_the_sources_fault(database: Database) -> None:
    sources = Sources(database)
    assert asyncio.run(sources.ask(one)) == 1
    with database.engine.connect() as other:
        other.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    assert asyncio.run(sources.ask(one)) == 1


@only_sqlite
def test_a_writer_does_not_keep_a_look_up_waiting(plant: Database) -> None:
    with plant.writing() as session:
        session.execute(text("DELETE FROM spare_part"))
        begun = time.monotonic()
        assert ask(plant, StepName.QUERY_SPARE_PARTS).status == "success"
        assert time.monotonic() - begun < 1
        session.rollback()


@only_sqlite
@pytest.mark.parametrize("statement", ["SELECT 1", "SELECT * FROM no_such_table"])
def test_the_busy_time_out_is_back_after_a_look_up(database: Database, statement: str) -> None:
    """Settlements share these connections, and may wait longer for their turn than a look-up may."""
    during: list[int] = []

    def question(session: Session) -> int:
        during.append(busy_milliseconds(session))
        return len(session.execute(text(statement)).all())

    async def asked() -> object:
        return (await asyncio.gather(Sources(database).ask(question), return_exceptions=True))[0]

    outcome = asyncio.run(asked())
    assert outcome == 1 or isinstance(outcome, SourceDownError)
    assert set(during) == {1000}
    with database.reading() as session:
        assert busy_milliseconds(session) == SQLITE_BUSY_SECONDS * 1000


def busy_milliseconds(session: Session) -> int:
    return int(session.execute(text("PRAGMA busy_timeout")).scalar_one())


def test_many_failures_leave_no_connection_behind(database: Database) -> None:
    def broken(session: Session) -> int:
        return len(session.execute(text("SELECT * FROM no_such_table")).all())

    async def many() -> list[int | BaseException]:
        sources = Sources(database)
        return await asyncio.gather(*(sources.ask(broken) for _ in range(60)), return_exceptions=True)

    assert {type(outcome) for outcome in asyncio.run(many())} == {SourceDownError}
    assert database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    assert asyncio.run(Sources(database).ask(one)) == 1


def test_a_server_that_is_not_there_is_unavailable_within_seconds() -> None:
    nowhere = Database("postgresql+psycopg://andon:S3CRET@127.0.0.1:1/andon")
    begun = time.monotonic()
    result = ask(nowhere, StepName.QUERY_SHIFT)
    nowhere.close()
    assert time.monotonic() - begun < FEW_SECONDS
    assert result.status == "unavailable"
    assert "S3CRET" not in result.to_text()


def test_a_writing_transactions_error_is_the_callers_and_nothing_is_kept(plant: Database) -> None:
    def change(session: Session) -> None:
        session.execute(text("DELETE FROM spare_part"))
        raise ValueError("a settlement's own error")

    with pytest.raises(ValueError, match="a settlement's own error"):
        asyncio.run(Sources(plant).write(change))
    assert asyncio.run(Sources(plant).ask(one_part)) > 0


def test_a_writing_transaction_is_committed_at_its_end(plant: Database) -> None:
    asyncio.run(Sources(plant).write(lambda session: session.execute(text("DELETE FROM spare_part"))))
    assert asyncio.run(Sources(plant).ask(one_part)) == 0


@only_sqlite
@pytest.mark.parametrize(("wanted", "status"), [("零件4711 传感", "success"), ("触摸屏驱动", "not_found")])
def test_a_large_store_that_many_alarms_ask_at_once_is_not_taken_for_one_that_is_down(
    database: Database, wanted: str, status: str
) -> None:
    names = {"aliases": ["别名", "alias"], "quantity": 1, "unit": "件", "location": "A", "minimum": 0}
    with database.writing() as session:
        rows = [{"number": f"SP-{n}", "name": f"零件{n} 传感器"} | names for n in range(5_000)]
        session.execute(insert(SparePart), rows)
    sources = Sources(database)

    async def one_alarm(n: int) -> str:
        context = a_context(database)
        context.sources = sources
        question = context.ledger.question(StepName.QUERY_SPARE_PARTS, wanted)
        return (
            await look_up(
                context, question, lambda session: query_spare_parts.answer(context, session, wanted)
            )
        ).status

    async def all_alarms() -> list[str]:
        return await asyncio.gather(*(one_alarm(n) for n in range(32)))

    assert asyncio.run(all_alarms()) == [status] * 32


@only_sqlite
def test_an_answer_that_cannot_be_worked_out_is_unavailable_and_the_source_is_not(plant: Database) -> None:
    def broken(_rows: object) -> ToolResult:
        raise RecursionError

    context = a_context(plant)
    question = context.ledger.question(StepName.QUERY_SPARE_PARTS, "触摸屏")
    result = asyncio.run(look_up(context, question, lambda _session: Search(one_part, broken)))
    assert result.status == "unavailable"
    assert ask(plant, StepName.QUERY_SPARE_PARTS, context).status == "success"
