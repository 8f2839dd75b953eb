"""A task's end: one line for a database that is away, a traceback for a fault of the program."""

import pytest
from sqlalchemy.exc import IntegrityError, InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from worker import tasks, wiring

AWAY = [
    OperationalError("INSERT …", {}, Exception("database or disk is full")),
    InterfaceError("SELECT …", {}, Exception("connection already closed")),
    PoolTimeoutError("QueuePool limit reached"),
]
FAULTS = [
    IntegrityError("INSERT …", {}, Exception("a bug")),
    ProgrammingError("SELECT …", {}, Exception("no such column")),
    ValueError("a bug"),
]


class Broken:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def handle(self, _alarm_id: int) -> str:
        raise self.error

    def claim_probe(self, _token: str) -> str:
        raise self.error


def run_both(monkeypatch: pytest.MonkeyPatch, error: Exception) -> list[Exception]:
    monkeypatch.setattr(wiring, "line", lambda: Broken(error))
    raised = []
    for task, argument in ((tasks.handle_alarm, 7), (tasks.claim_probe, "token")):
        with pytest.raises((tasks.DatabaseFailed, type(error))) as caught:
            task(argument)
        raised.append((task, caught.value))
    assert [task.throws for task, _ in raised] == [(tasks.DatabaseFailed,)] * 2
    return [error for _, error in raised]


@pytest.mark.parametrize("error", AWAY, ids=lambda error: type(error).__name__)
def test_a_database_that_is_away_is_said_on_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    for raised in run_both(monkeypatch, error):
        assert isinstance(raised, tasks.DatabaseFailed)
        assert "\n" not in str(raised)
        assert "INSERT" not in str(raised)


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_fault_of_the_program_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    assert run_both(monkeypatch, error) == [error, error]
