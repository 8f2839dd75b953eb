"""The command `alarm-db`, from any directory, on good and bad settings."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from alembic import command
from typer.testing import CliRunner, Result

from db import migrate
from db.commands.alarm_db import app
from db.plant import SAMPLE
from db.session import Database

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is not the project's, with no setting of the outside in reach."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("DATABASE_URL", "PLANT_TIMEZONE", "PLANT_LANGUAGE", "PRIORITY_SEVERITIES"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def configured(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A migrated database, named by DATABASE_URL."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    return database_url


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def only_line(result: Result) -> str:
    (line,) = result.stderr.splitlines()
    return line


def test_upgrade_makes_the_default_database_in_the_current_directory(elsewhere: Path) -> None:
    result = run("upgrade")
    assert result.exit_code == 0, result.stderr
    assert f"{elsewhere}/var/andon.db is now at revision 0004" in result.stdout
    with sqlite3.connect(elsewhere / "var" / "andon.db") as connection:
        assert connection.execute("SELECT count(*) FROM alarm").fetchone() == (0,)
    connection.close()


def test_an_address_relative_to_the_directory_is_printed_resolved(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "sqlite:///../other/./line.db")
    assert str(elsewhere.parent / "other" / "line.db") in run("upgrade").stdout
    assert str(elsewhere.parent / "other" / "line.db") in run("check").stdout


def test_an_upgrade_says_what_it_did_and_the_next_that_there_is_nothing_to_do(configured: str) -> None:
    database = Database(configured)
    command.downgrade(migrate.config(database), "0001")
    database.close()
    first, second = json.loads(run("upgrade", "--json").stdout), json.loads(run("upgrade", "--json").stdout)
    assert (first["from"], first["revision"]) == ("0001", "0004")
    assert (second["from"], second["revision"]) == ("0004", "0004")
    assert "already" in run("upgrade").stdout


def test_check_is_content_with_a_database_at_head(configured: str) -> None:
    result = run("check")
    assert (result.exit_code, result.stderr) == (0, "")
    facts = json.loads(run("check", "--json").stdout)
    assert (facts["revision"], facts["head"], facts["at_head"]) == ("0004", "0004", True)


def test_check_refuses_a_database_behind_head_and_names_the_command(configured: str) -> None:
    database = Database(configured)
    command.downgrade(migrate.config(database), "0001")
    database.close()
    result = run("check")
    assert result.exit_code == 1
    assert "is at revision 0001, this version wants 0004; run `alarm-db upgrade`" in only_line(result)
    as_json = run("check", "--json")
    assert as_json.exit_code == 1
    facts = json.loads(as_json.stdout)
    assert (facts["revision"], facts["at_head"]) == ("0001", False)


def test_check_does_not_make_a_database_that_is_not_there(elsewhere: Path) -> None:
    result = run("check")
    assert result.exit_code == 1
    assert f"there is no database {elsewhere}/var/andon.db; `alarm-db upgrade` makes it" in only_line(result)
    assert not (elsewhere / "var").exists()


def test_load_without_a_folder_loads_the_sample_plant(configured: str) -> None:
    facts = json.loads(run("load", "--json").stdout)
    assert facts["folder"] == str(SAMPLE)
    assert (facts["rows"]["manual_entry"], facts["rows"]["spare_part"]) == (20, 30)
    said = run("load").stdout
    assert "20 manual entries" in said
    assert str(SAMPLE) in said


def test_load_takes_a_folder_relative_to_the_directory(configured: str, elsewhere: Path) -> None:
    shutil.copytree(SAMPLE, elsewhere / "plant")
    assert json.loads(run("load", "plant", "--json").stdout)["folder"] == str(elsewhere / "plant")


def test_load_says_each_problem_on_a_line_and_exits_1(configured: str, elsewhere: Path) -> None:
    shutil.copytree(SAMPLE, elsewhere / "plant")
    (elsewhere / "plant" / "equipment.csv").write_text("line_name,name,equipment_class,leader\n,,c,A\n")
    result = run("load", "plant", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        f"error: 2 problems in {elsewhere}/plant; nothing was changed",
        "equipment.csv, line 2, column line_name: is empty; wants text",
        "equipment.csv, line 2, column name: is empty; wants text",
    ]


def test_load_into_a_database_without_tables_names_the_command(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{elsewhere}/empty.db")
    (elsewhere / "empty.db").touch()
    result = run("load")
    assert result.exit_code == 1
    assert "has no tables yet; run `alarm-db upgrade`" in only_line(result)


@pytest.mark.parametrize(
    ("variable", "value", "wants"),
    [
        ("DATABASE_URL", "nonsense", "sqlite:///FILE or postgresql"),
        ("DATABASE_URL", "mysql://u:hunter2@host/db", "sqlite:///FILE or postgresql"),
        ("DATABASE_URL", "postgresql://u:hunter2@host:hunter2/db", "sqlite:///FILE or postgresql"),
        ("DATABASE_URL", "postgresql+asyncpg://u:hunter2@host/db", "write postgresql://"),
        ("DATABASE_URL", "sqlite://", "name a file"),
        ("PLANT_TIMEZONE", "Mars/Olympus", "Asia/Shanghai"),
        ("PLANT_LANGUAGE", "fr", "'zh' or 'en'"),
        ("PRIORITY_SEVERITIES", "high", "[800, 600, 300]"),
        ("PRIORITY_SEVERITIES", "[1, 2, 3]", "[800, 600, 300]"),
        ("PRIORITY_SEVERITIES", "[800]", "[800, 600, 300]"),
    ],
)
def test_a_setting_that_cannot_be_right_is_named_with_what_it_wants(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, wants: str
) -> None:
    monkeypatch.setenv(variable, value)
    result = run("load")
    assert result.exit_code != 0
    assert variable in only_line(result)
    assert wants in only_line(result)
    assert "hunter2" not in result.output


def test_a_setting_is_read_from_the_file_env_too(elsewhere: Path) -> None:
    (elsewhere / ".env").write_text("DATABASE_URL=oracle://h/d\n")
    assert "DATABASE_URL: oracle is not supported" in only_line(run("check"))


@pytest.mark.parametrize("name", ["upgrade", "check", "load"])
def test_a_database_that_cannot_be_reached_is_said_in_one_line_without_the_password(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://andon:hunter2@127.0.0.1:1/andon")
    result = run(name)
    assert result.exit_code == 1
    assert "cannot use the database postgresql+psycopg://andon:***@127.0.0.1:1/andon" in only_line(result)
    assert "hunter2" not in result.output


def test_a_file_that_is_no_database_is_said_in_one_line(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / "notes.txt").write_text("not a database, " * 100)
    monkeypatch.setenv("DATABASE_URL", "sqlite:///notes.txt/andon.db")
    assert f"{elsewhere}/notes.txt" in only_line(run("upgrade"))
    monkeypatch.setenv("DATABASE_URL", "sqlite:///notes.txt")
    assert "file is not a database" in only_line(run("upgrade"))


def test_help_answers_at_once_and_loads_no_sqlalchemy(elsewhere: Path) -> None:
    program = "import sys; from db.commands.alarm_db import app; app(['--help'], standalone_mode=False)"
    report = (
        "; print('loaded', [name for name in ('sqlalchemy', 'alembic', 'pydantic') if name in sys.modules])"
    )
    quickest = 60.0
    for _ in range(3):
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", program + report],
            cwd=elsewhere,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        quickest = min(quickest, time.monotonic() - begun)
    assert "upgrade" in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded []"
    assert quickest < 0.5
