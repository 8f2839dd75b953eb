"""`alarm-worker rejected`: what could not be read, for a person to look at."""

import base64
import json
from collections.abc import Sequence

import pytest

from db.models.alarm import RejectReason
from db.session import Database
from db.terminal import place
from tests.helpers.rejected_alarms import call, listed, reject
from worker.commands.rejected import REASON_WORDS


@pytest.fixture(autouse=True)
def _settings(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("PLANT_TIMEZONE", "Asia/Shanghai")
    monkeypatch.setenv("COLUMNS", "150")


def test_the_list_shows_the_newest_first_with_the_reason(database: Database) -> None:
    reject(database, "1-0", b"one")
    reject(database, "2-0", b"two")
    shown = call("list").output
    assert shown.index("2-0") < shown.index("1-0")
    assert "not_utf8" in shown
    assert "is not UTF-8 from byte 3 on" in shown
    assert "08-04 10:30" in shown
    assert shown.splitlines()[-1] == "2 open"
    assert "Status" not in shown
    rows = listed("--limit", "1")
    assert [row["entry_id"] for row in rows] == ["2-0"]
    names = ("id", "entry_id", "reason", "detail", "raw_bytes", "received_at", "status")
    assert set(rows[0]) == {*names, "closed_at", "closed_by"}


def test_an_empty_list_says_so(database: Database) -> None:
    assert call("list").output == f"nothing was rejected in {place(database.url)}\n"
    assert listed() == []


def test_the_list_shows_what_is_open_and_counts_what_was_closed(database: Database) -> None:
    first, *_ = (reject(database, f"{n}-0", b"x") for n in (1, 2, 3))
    assert call("drop", first, "--by", "王").exit_code == 0
    assert [row["entry_id"] for row in listed()] == ["3-0", "2-0"]
    assert [row["status"] for row in listed("--all")] == ["open", "open", "dropped"]
    shown = call("list", "--limit", "1").output.splitlines()
    assert shown[-2:] == ["2 open of 3 rejected", "the newest 1 of 2; --limit 2 shows all"]
    everything = call("list", "--all").output
    assert "dropped" in everything
    assert "王" in everything
    assert everything.splitlines()[-1] == "2 open of 3 rejected"


def test_a_list_without_open_ones_says_how_many_there_were(database: Database) -> None:
    assert call("drop", reject(database, "1-0", b"x"), "--by", "王").exit_code == 0
    where = place(database.url)
    shown = call("list").output
    assert shown == f"0 open of 1 rejected in {where}; --all shows those that were retried or dropped\n"


def test_the_list_can_be_held_to_a_reason(database: Database) -> None:
    reject(database, "1-0", b"x", RejectReason.NOT_JSON)
    reject(database, "2-0", b"x", RejectReason.NOT_A_TASK)
    assert [row["entry_id"] for row in listed("--reason", "not_json")] == ["1-0"]
    nothing = f"nothing was rejected as invalid in {place(database.url)}\n"
    assert call("list", "--reason", "invalid").output == nothing
    wrong = call("list", "--reason", "ugly")
    assert (wrong.exit_code, len(wrong.stderr.splitlines())) == (2, 1)
    assert "not_a_task" in wrong.stderr


def test_the_reasons_that_the_help_names_are_those_there_are() -> None:
    assert REASON_WORDS.split(", ") == [reason.value for reason in RejectReason]


def test_show_gives_the_bytes_back_and_writes_nothing_wild_to_a_terminal(database: Database) -> None:
    raw = "线\x1b[2J".encode() + b"\xff"
    number = reject(database, "1-0", raw)
    shown = call("show", number).output
    assert "线\\x1b[2J\\xff" in shown
    assert "2026-08-04T10:30:00+08:00" in shown
    assert "closed_by    -" in shown
    found = json.loads(call("show", number, "--json").output)
    assert found["raw"] is None
    assert base64.b64decode(found["raw_base64"]) == raw


def test_show_as_json_gives_readable_bytes_as_text_and_a_terminal_the_beginning(database: Database) -> None:
    raw = ("好" * 5000).encode()
    number = reject(database, "1-0", raw)
    assert json.loads(call("show", number, "--json").output)["raw"] == raw.decode()
    shown = call("show", number).output
    assert "(15000 bytes are kept; --json shows them all)" in shown
    assert len(shown.encode()) < 3000


@pytest.mark.parametrize("number", ["7", "99999999999999999999999"])
@pytest.mark.parametrize("command", [["show"], ["retry", "--by", "王"], ["drop", "--by", "王"]])
def test_a_number_that_is_not_there_is_said_in_one_line(
    database: Database, number: str, command: Sequence[str]
) -> None:
    done = call(*command, number)
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert number in done.stderr
    assert len(done.stderr.splitlines()) == 1
