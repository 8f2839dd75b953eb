"""`alarm-worker status`: the books and the broker at a glance, for a person and for a program."""

import json

import pytest
from redis import Redis
from sqlalchemy import text
from typer.testing import CliRunner, Result

from db.models.alarm import AlarmStatus
from db.session import Database
from producers.queue import STREAM
from tests.helpers.support import accepted, an_alarm, claimed, settled
from worker.cli import app
from worker.line.intake import GROUP
from worker.tasks import queue_lists


@pytest.fixture(autouse=True)
def _settings(database_url: str, broker_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("BROKER_URL", broker_url)
    monkeypatch.setenv("COLUMNS", "80")


def call(*options: str) -> Result:
    return CliRunner().invoke(app, ["status", *options])


def test_the_books_and_the_broker_as_json(database: Database, broker_url: str) -> None:
    first, _second = accepted(database, an_alarm(line_name="A"), an_alarm(line_name="B"))
    settled(database, first, claimed(database, first))
    with Redis.from_url(broker_url, protocol=2) as broker:
        broker.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
        for number in range(3):
            broker.xadd(STREAM, {"event": str(number)})
        broker.xreadgroup(GROUP, "celery@here", {STREAM: ">"}, count=2)
        for name in queue_lists():
            broker.lpush(name, b"a task")
    done = call("--json")
    assert done.exit_code == 0
    found = json.loads(done.output)
    assert found["alarms"] == {status.value: 0 for status in AlarmStatus} | {"settled": 1, "waiting": 1}
    assert (found["opened"], found["open"], found["orders"], found["balanced"]) == (1, 1, 1, True)
    assert set(found["oldest_open_at"]) == {"waiting"}
    assert found["newest_alarm_at"].startswith("2026-08-04T02:30:00")
    assert found["broker"] == {"stream": 3, "pending": 2, "tasks": 4, "error": None}


def test_the_table_is_drawn_from_the_same(database: Database) -> None:
    accepted(database, an_alarm())
    done = call()
    assert done.exit_code == 0
    assert done.output.splitlines()[-2:] == ["1 active alarms = 1 open", "the books balance"]


def test_a_broker_that_is_away_is_said_and_the_books_are_shown(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKER_URL", "redis://:secret@127.0.0.1:1/0")
    done = call()
    assert done.exit_code == 1
    assert "cannot be asked: ConnectionError" in done.output
    assert "the books balance" in done.output
    assert "secret" not in done.output
    as_json = call("--json")
    assert as_json.exit_code == 1
    found = json.loads(as_json.output)["broker"]
    assert found.pop("error").startswith("ConnectionError: ")
    assert found == {"stream": None, "pending": None, "tasks": None}


def test_a_key_of_another_kind_in_the_streams_place_is_said(database: Database, broker_url: str) -> None:
    with Redis.from_url(broker_url, protocol=2) as broker:
        broker.set(STREAM, "rubbish")
    done = call()
    assert done.exit_code == 1
    assert "WRONGTYPE" in " ".join(done.output.split())


def test_books_that_do_not_balance_end_with_a_failure(database: Database) -> None:
    accepted(database, an_alarm())
    with database.writing() as session:
        session.execute(text("UPDATE alarm SET status = 'settled'"))
    done = call()
    assert done.exit_code == 1
    said = "the books do not balance: 1 settled alarms have no order"
    assert done.output.splitlines()[-1] == said
    assert call("--json").exit_code == 1
