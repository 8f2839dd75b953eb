"""`alarm-worker rejected`: what could not be read, for a person to look at."""

import base64
import json
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner, Result

from db.models.alarm import RejectReason
from db.queries.intake import Unreadable, accept
from db.session import Database
from worker.cli import app


@pytest.fixture(autouse=True)
def _settings(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("PLANT_TIMEZONE", "Asia/Shanghai")
    monkeypatch.setenv("COLUMNS", "150")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["rejected", *arguments])


def reject(database: Database, entry_id: str, raw: bytes) -> None:
    unreadable = Unreadable(entry_id, raw, RejectReason.NOT_UTF8, "is not UTF-8 from byte 3 on")
    with database.writing() as session:
        accept(session, [], [unreadable], datetime(2026, 8, 4, 2, 30, tzinfo=UTC))


def test_the_list_shows_the_newest_first_with_the_reason(database: Database) -> None:
    reject(database, "1-0", b"one")
    reject(database, "2-0", b"two")
    shown = call("list").output
    assert shown.index("2-0") < shown.index("1-0")
    assert "not_utf8" in shown
    assert "is not UTF-8 from byte 3 on" in shown
    assert "08-04 10:30" in shown
    rows = json.loads(call("list", "--json", "--limit", "1").output)
    assert [row["entry_id"] for row in rows] == ["2-0"]
    assert set(rows[0]) == {"id", "entry_id", "reason", "detail", "raw_bytes", "received_at"}


def test_an_empty_list_says_so(database: Database) -> None:
    assert call("list").output == "nothing was rejected\n"
    assert json.loads(call("list", "--json").output) == []


def test_show_gives_the_bytes_back_and_writes_nothing_wild_to_a_terminal(database: Database) -> None:
    raw = "线\x1b[2J".encode() + b"\xff"
    reject(database, "1-0", raw)
    [row] = json.loads(call("list", "--json").output)
    shown = call("show", str(row["id"])).output
    assert "线\\x1b[2J\\xff" in shown
    assert "2026-08-04T10:30:00+08:00" in shown
    found = json.loads(call("show", str(row["id"]), "--json").output)
    assert found["raw"] is None
    assert base64.b64decode(found["raw_base64"]) == raw


def test_show_as_json_gives_readable_bytes_as_text_and_a_terminal_the_beginning(database: Database) -> None:
    raw = ("好" * 5000).encode()
    reject(database, "1-0", raw)
    [row] = json.loads(call("list", "--json").output)
    assert json.loads(call("show", str(row["id"]), "--json").output)["raw"] == raw.decode()
    shown = call("show", str(row["id"])).output
    assert "(15000 bytes are kept; --json shows them all)" in shown
    assert len(shown.encode()) < 3000


@pytest.mark.parametrize("number", ["7", "99999999999999999999999"])
def test_a_number_that_is_not_there_is_said_in_one_line(database: Database, number: str) -> None:
    done = call("show", number)
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert number in done.stderr
    assert len(done.stderr.splitlines()) == 1
