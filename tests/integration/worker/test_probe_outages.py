"""A probe while the broker or the database is away: that is said, with no password in it."""

import itertools

import pytest
from redis import Redis
from sqlalchemy import text

from db.queries.alarms import probes
from db.session import Database
from producers.queue import STREAM
from tests.helpers.probing import stuck
from tests.helpers.servers import ValkeyServer
from tests.helpers.support import only_postgresql
from worker.commands.probing import ask

only_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_a_broker_that_is_away_is_said(database: Database) -> None:
    answer = ask(database, "redis://:secret@127.0.0.1:1/0", timeout_seconds=5)
    stuck(answer, "broker", "does not take the probe", "ConnectionError")
    assert "secret" not in answer.said


@only_sqlite
def test_a_broker_that_goes_away_meanwhile_is_said(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ValkeyServer() as server:
        looks = itertools.count()

        def looks_and_kills(*_arguments: object) -> None:
            if next(looks) == 0:
                server.kill()

        monkeypatch.setattr(probes, "look", looks_and_kills)
        answer = ask(database, f"{server.url}/0", timeout_seconds=1)
    stuck(answer, "broker", "has gone away since it took the probe")


def test_a_database_that_goes_away_meanwhile_is_said(database: Database, broker_url: str) -> None:
    with database.writing() as session:
        session.execute(text("ALTER TABLE probe RENAME TO away"))
    stuck(ask(database, broker_url, timeout_seconds=1), "database", "cannot be asked any more", "probe")
    with database.writing() as session:
        session.execute(text("ALTER TABLE away RENAME TO probe"))


@only_postgresql
def test_a_database_that_does_not_answer_is_said_in_time(database: Database, broker_url: str) -> None:
    with database.engine.connect() as other:
        other.execute(text("LOCK TABLE probe IN ACCESS EXCLUSIVE MODE"))
        answer = ask(database, broker_url, timeout_seconds=1)
        other.rollback()
    stuck(answer, "database", "statement timeout")


def test_a_database_that_is_away_is_said_before_anything_is_pushed(broker_url: str) -> None:
    away = Database("postgresql+psycopg://someone:secret@127.0.0.1:1/andon")
    answer = ask(away, broker_url, timeout_seconds=5)
    away.close()
    stuck(answer, "database", "OperationalError")
    assert "secret" not in answer.said
    with Redis.from_url(broker_url) as broker:
        assert not broker.exists(STREAM)
