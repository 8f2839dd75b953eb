"""The command work-orders on the test's database, and what the integration tests print at their end."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from db.commands import work_orders as commands
from db.session import Database
from tests.helpers.work_orders import Command
from tests.misbehaviour import table
from tests.misbehaviour.bench import Bench
from tests.misbehaviour.elsewhere import Elsewhere


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """work-orders, called in this process; arguments, then the environment by name."""
    monkeypatch.chdir(tmp_path)  # away from anybody's .env
    for name in ("DATABASE_URL", "PLANT_TIMEZONE", "PRIORITY_SEVERITIES"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str, **variables: str) -> Result:
        return CliRunner().invoke(commands.app, list(arguments), env={"COLUMNS": "120"} | variables)

    return call


@pytest.fixture
def work_orders(database: Database, database_url: str, command: Command) -> Command:
    """The same, on the test's database."""
    return lambda *arguments, **variables: command(*arguments, DATABASE_URL=database_url, **variables)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """The path from claim to order, with the misbehaving endpoint in a process of its own."""
    with Elsewhere() as endpoint:
        bench = Bench(endpoint)
        yield bench
        bench.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if table.TABLE:
        terminalreporter.section("misbehaviours by data: right orders / alarms")
        for line in table.lines():
            terminalreporter.write_line(line)
