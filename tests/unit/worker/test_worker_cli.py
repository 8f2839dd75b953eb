"""What `alarm-worker` says about itself, and how little it loads to say it."""

import json
import subprocess
import sys

import pytest

from tests.helpers.processes import environment

PROBE = """
import json, sys
from worker.cli import app
try:
    app(sys.argv[1:], standalone_mode=False)
finally:
    heavy = {"celery", "kombu", "langchain", "langchain_core", "openai", "sqlalchemy", "redis"}
    print(json.dumps(sorted(heavy & set(sys.modules))))
"""


@pytest.mark.parametrize(
    "command",
    [
        *([], ["run"], ["demo"], ["up"], ["eval"], ["status"], ["probe"]),
        *(["rejected", *rest] for rest in ([], ["list"], ["show"], ["retry"], ["drop"])),
    ],
    ids=" ".join,
)
def test_help_loads_nothing_heavy(command: list[str]) -> None:
    output = subprocess.check_output(
        [sys.executable, "-c", PROBE, *command, "--help"], env=environment(), text=True, timeout=30
    )
    assert "Usage:" in output
    assert json.loads(output.splitlines()[-1]) == []


@pytest.mark.parametrize("module", ["producers.cli", "db.commands.alarm_db", "db.commands.work_orders"])
def test_the_help_of_every_other_command_loads_nothing_heavy(module: str) -> None:
    probe = PROBE.replace("worker.cli", module)
    output = subprocess.check_output(
        [sys.executable, "-c", probe, "--help"], env=environment(), text=True, timeout=30
    )
    assert "Usage:" in output
    assert json.loads(output.splitlines()[-1]) == []
