"""The command work-orders in the test's own process, and what it prints."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from typer.testing import Result

from db.session import Database
from tests.helpers.support import NOW, accepted, an_alarm, an_order, claimed, settled

Command = Callable[..., Result]


def made(database: Database, minutes: int = 0, draft: dict[str, Any] | None = None, **alarm: Any) -> str:
    then = NOW + timedelta(minutes=minutes)
    [row] = accepted(database, an_alarm(**alarm), now=then)
    return settled(database, row, claimed(database, row, then), an_order(**(draft or {})), then)


def refused(result: Result, code: int) -> str:
    """The one line that a refused command leaves on stderr."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    return line


def printed(result: Result) -> str:
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout
