"""The fault suite in its short form: every fault is struck at real processes, and the books balance."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.faults import ALL
from tests.helpers.processes import ROOT, environment

pytestmark = pytest.mark.timeout(600)

LONG = bool(os.environ.get("ALL_FAULTS"))
DATABASES = ("postgresql", "sqlite") if LONG else ("postgresql",)


@pytest.mark.parametrize("database", DATABASES)
def test_no_alarm_is_lost_and_no_order_made_twice_whatever_fails(tmp_path: Path, database: str) -> None:
    out = tmp_path / "table.json"
    command = [sys.executable, "-m", "tests.chaos", "--short", "--database", database, "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    rows = json.loads(out.read_text())
    assert {row["fault"] for row in rows} == {fault.name for fault in ALL}
    for row in rows:
        assert row["held"], said
        assert row["seconds_to_recover"], said
        assert row["books"]["accepted"] == row["books"]["orders"] + row["books"]["attached"] > 0, said
