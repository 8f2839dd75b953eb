"""From the stream to the place of each alarm, with the rules of the plant, and what ends by itself."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from db.codes import fingerprint
from db.models import Alarm, Flood, Shelving, StandingAlarm
from db.models.alarm import AlarmStatus
from db.queries.standing import floods, shelved
from db.rules import FloodLimit, Rules
from db.session import Database
from producers.events import AlarmEvent
from producers.queue import publish
from tests.helpers.faults import books_balance
from tests.helpers.running import running
from tests.helpers.support import at_once, count, eventually
from worker.line.intake import Intake

LINE = "交互屏组装A线"
RULES = Rules(flood_limit=FloodLimit(2, timedelta(seconds=2)))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.line.intake.BLOCK_MILLISECONDS", 50)
    monkeypatch.setattr("worker.line.intake.END_EVERY_SECONDS", 0.05)


@pytest.fixture
def broker(broker_url: str) -> Iterator[Redis]:
    with Redis.from_url(broker_url, protocol=2) as client:
        yield client


def an_event(event_id: str, equipment: str = "A1", **fields: Any) -> AlarmEvent:
    facts = {
        "source": "plc-7",
        "line_name": LINE,
        "fault_code": "E401",
        "occurred_at": datetime.now(UTC),
    }
    return AlarmEvent(**{"event_id": event_id, "equipment": equipment} | facts | fields)


def in_the_database(database: Database) -> list[Alarm]:
    with database.reading() as session:
        return list(session.scalars(select(Alarm).order_by(Alarm.id)))


def test_repeats_clears_and_historical_events_from_the_stream_make_one_order(
    database: Database, broker: Redis, broker_url: str
) -> None:
    publish(
        broker,
        [
            an_event("past", attributes={"historical": True}),
            an_event("first"),
            an_event("again"),
            an_event("clear", state="cleared"),
        ],
    )
    with running(Intake(database, broker_url, "reader")):
        eventually(lambda: count(database, Alarm) == 4, 30)
    past, first, again, clear = in_the_database(database)
    assert [row.status for row in (past, first, again, clear)] == ["stored", "waiting", "attached", "stored"]
    assert [row.leader_id for row in (past, first, again, clear)] == [None, None, first.id, first.id]


def test_many_producers_and_two_intakes_give_one_fault_one_leader(
    database: Database, broker: Redis, broker_url: str
) -> None:
    """Each producer sends all of the events, of one fault each five."""
    events = [an_event(f"e-{number}", equipment=f"A{number % 8}") for number in range(40)]

    def send(_: int) -> None:
        for event in events:
            publish(broker, [event])

    with running(Intake(database, broker_url, "one"), Intake(database, broker_url, "two")):
        at_once(send, range(3))
        eventually(lambda: count(database, Alarm) == 40, 60)
    rows = in_the_database(database)
    assert sum(row.status is AlarmStatus.WAITING for row in rows) == 8
    with database.reading() as session:
        books_balance(session)
        assert set(session.scalars(select(StandingAlarm.occurrences))) == {5}


def test_the_intake_goes_by_the_rules_of_the_plant(
    database: Database, broker: Redis, broker_url: str
) -> None:
    publish(broker, [an_event(f"e-{number}", equipment=f"A{number}") for number in range(5)])
    with running(Intake(database, broker_url, "reader", rules=RULES)):
        eventually(lambda: count(database, Alarm) == 5, 30)
    assert [row.status for row in in_the_database(database)] == ["waiting"] * 3 + ["attached"] * 2


def test_shelvings_and_floods_end_by_themselves(database: Database, broker: Redis, broker_url: str) -> None:
    publish(
        broker, [an_event("e-0", equipment="A0"), *(an_event(f"e-{n}", equipment=f"A{n}") for n in (1, 2, 3))]
    )
    woken = threading.Event()
    with running(Intake(database, broker_url, "reader", on_new=woken.set, rules=RULES)):
        eventually(lambda: count(database, Flood) == 1, 30)
        eventually(lambda: flood(database).ended_at is not None, 30)
        assert flood(database).ended_at >= flood(database).started_at + timedelta(seconds=2)  # type: ignore[operator]
        shelve(database, "B1")
        publish(broker, [an_event("kept back", equipment="B1")])
        eventually(lambda: count(database, Alarm) == 5, 30)
        kept = in_the_database(database)[-1]
        assert (kept.event_id, kept.status) == ("kept back", AlarmStatus.SHELVED)
        woken.clear()
        with database.writing() as session:
            session.scalars(select(Shelving)).one().until = datetime.now(UTC)
        eventually(lambda: in_the_database(database)[-1].status is AlarmStatus.WAITING, 30)
        assert woken.wait(10)
    with database.reading() as session:
        assert session.scalars(select(Shelving)).one().ended_at is not None


def flood(database: Database) -> Flood:
    with database.reading() as session:
        return session.scalars(select(Flood)).one()


def shelve(database: Database, equipment: str) -> None:
    now = datetime.now(UTC)
    with database.writing() as session:
        session.add(
            Shelving(
                fingerprint=fingerprint(LINE, equipment, "E401"), line_name=LINE, equipment=equipment,
                fault_code="E401", until=now + timedelta(hours=1), shelved_by="王芳", why="", shelved_at=now,
            )
        )  # fmt: skip


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "error", [RuntimeError("a fault of ours"), IntegrityError("UPDATE", {}, Exception())]
)
def test_a_shelving_that_cannot_be_ended_keeps_no_alarm_from_coming_in(
    database: Database, broker: Redis, broker_url: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    tried = threading.Event()

    def release(*_: Any) -> int:
        tried.set()
        raise error

    monkeypatch.setattr(shelved, "any_over", lambda *_: True)
    monkeypatch.setattr(shelved, "release", release)
    with running(Intake(database, broker_url, "reader")):
        assert tried.wait(30)
        tried.clear()
        publish(broker, [an_event("e-1")])
        eventually(lambda: count(database, Alarm) == 1, 30)
        assert tried.wait(30)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_where_nothing_is_over_nothing_is_written(
    database: Database, broker: Redis, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked every few seconds, by every worker; a flood that goes on is no reason to write."""
    publish(broker, [an_event(f"e-{number}", equipment=f"A{number}") for number in range(5)])
    rules = Rules(flood_limit=FloodLimit(2, timedelta(hours=1)))
    asked = threading.Event()
    ask = floods.any_over

    def noting(*arguments: Any) -> bool:
        over = ask(*arguments)
        if count(database, Flood):
            asked.set()
        return over

    def end(*_: Any) -> int:
        raise AssertionError("nothing was over")

    monkeypatch.setattr(floods, "any_over", noting)
    monkeypatch.setattr(floods, "end", end)
    with running(Intake(database, broker_url, "reader", rules=rules)):
        assert asked.wait(30)
        asked.clear()
        assert asked.wait(30)
