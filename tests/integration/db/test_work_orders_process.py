"""The command work-orders in a process of its own: what it loads, and where it writes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from db.commands import work_orders as commands
from db.migrate import upgrade
from db.models.order import OrderStatus, StepName
from db.session import Database
from tests.helpers.processes import ROOT, environment
from tests.helpers.support import accepted, an_alarm, claimed, settled


def test_the_help_knows_the_words_of_the_enumerations() -> None:
    assert ", ".join(OrderStatus) == commands.ORDER_WORDS
    assert ", ".join(StepName) == commands.STEP_WORDS


def test_the_help_loads_nothing_heavy() -> None:
    program = """
import sys
from db.commands.work_orders import app
for arguments in [["--help"], ["list", "--help"], ["follow-ups", "list", "--help"], ["shelve", "--help"]]:
    app(arguments, standalone_mode=False)
heavy = {"sqlalchemy", "alembic", "pydantic_settings", "rich.table", "rich.markdown", "psycopg"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "--since" in done.stdout
    assert "--why" in done.stdout


@pytest.fixture
def one_order(tmp_path: Path) -> dict[str, str]:
    """The environment of a process that looks at a SQLite database with one order."""
    url = f"sqlite:///{tmp_path}/one.db"
    database = Database(url)
    upgrade(database)
    [row] = accepted(database, an_alarm())
    settled(database, row, claimed(database, row))
    database.close()
    return environment(DATABASE_URL=url)


def work_orders(
    *arguments: str, env: dict[str, str], cwd: Path, stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "db.commands.work_orders", *arguments]
    return subprocess.run(
        command, env=env, cwd=cwd, stdout=stdout, stderr=subprocess.PIPE, timeout=60, check=False
    )


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["follow-ups", "list"]])
def test_chinese_reaches_a_terminal_that_knows_only_ascii(
    one_order: dict[str, str], tmp_path: Path, arguments: list[str]
) -> None:
    poor = one_order | {"LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = work_orders(*arguments, env=poor, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "交互屏组装A线" in done.stdout.decode()


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["show", "WO-20260804-0001"]])
def test_a_reader_that_has_gone_away_is_no_error_to_talk_about(
    one_order: dict[str, str], tmp_path: Path, arguments: list[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = work_orders(*arguments, env=one_order, cwd=tmp_path, stdout=writer)
        assert done.stderr == b""
    finally:
        os.close(writer)
