"""A task's end: one line for a database that is away, a traceback for a fault of the program."""

import contextlib
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import (
    DBAPIError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from worker import tasks, wiring

AWAY = [
    OperationalError("INSERT …", {}, Exception("the server closed the connection")),
    InterfaceError("SELECT …", {}, Exception("connection already closed")),
    InternalError("SELECT …", {}, Exception("could not read block 7")),
    PoolTimeoutError("QueuePool limit reached"),
]
FAULTS = [
    IntegrityError("INSERT …", {}, Exception("a bug")),
    ProgrammingError("SELECT …", {}, Exception("no such column")),
    ValueError("a bug"),
]
STATEMENTS = {
    "a missing table": "SELECT * FROM nowhere",
    "a missing column": "SELECT nothing FROM sqlite_schema",
    "a slip of the pen": "SELEKT 1",
}


class Broken:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def handle(self, _alarm_id: int) -> str:
        raise self.error

    def claim_probe(self, _token: str) -> str:
        raise self.error


def run_both(monkeypatch: pytest.MonkeyPatch, error: Exception) -> list[Exception]:
    monkeypatch.setattr(wiring, "line", lambda: Broken(error))
    raised: list[Exception] = []
    for task, argument in ((tasks.handle_alarm, 7), (tasks.claim_probe, "token")):
        assert task.throws == (tasks.DatabaseFailed,)
        with pytest.raises((tasks.DatabaseFailed, type(error))) as caught:
            task(argument)
        raised.append(caught.value)
    return raised


def said_by_sqlite(folder: Path, statement: str) -> DBAPIError:
    """What SQLAlchemy raises of a statement, in a file that another connection is writing."""
    url = f"sqlite:///{folder / 'a.db'}"
    writer, other = create_engine(url), create_engine(url, connect_args={"timeout": 0})
    try:
        with writer.connect() as writing, other.connect() as connection:
            writing.exec_driver_sql("BEGIN IMMEDIATE")
            with pytest.raises(DBAPIError) as caught:
                connection.execute(text(statement))
            return caught.value
    finally:
        for engine in (writer, other):
            with contextlib.suppress(DBAPIError):
                engine.dispose()


@pytest.mark.parametrize("error", AWAY, ids=lambda error: type(error).__name__)
def test_a_database_that_is_away_is_said_on_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    for raised in run_both(monkeypatch, error):
        assert isinstance(raised, tasks.DatabaseFailed)
        assert "\n" not in str(raised)
        assert "INSERT" not in str(raised)


def test_so_is_an_sqlite_file_that_is_locked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    locked = said_by_sqlite(tmp_path, "CREATE TABLE other (id INTEGER)")
    for raised in run_both(monkeypatch, locked):
        assert str(raised) == "OperationalError: database is locked"


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_fault_of_the_program_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    assert run_both(monkeypatch, error) == [error, error]


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_so_does_a_wrong_statement_which_sqlite_calls_operational_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, statement: str
) -> None:
    wrong = said_by_sqlite(tmp_path, statement)
    assert isinstance(wrong, OperationalError)
    assert run_both(monkeypatch, wrong) == [wrong, wrong]
