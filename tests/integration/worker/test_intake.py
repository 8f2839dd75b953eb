"""From the stream into the database: each entry ends as a row or as a rejected alarm, whatever fails."""

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import func, select, text
from sqlalchemy.exc import DataError

from db.models import Alarm, RejectedAlarm
from db.models.alarm import AlarmStatus, RejectReason
from db.queries.alarms import intake as rows
from db.session import Database
from producers.events import AlarmEvent
from producers.queue import STREAM, publish
from tests.helpers.running import running
from tests.helpers.support import eventually
from worker.line.entries import Entry
from worker.line.intake import GROUP, Intake

EVENT = {
    "event_id": "e-1",
    "source": "plc-7",
    "line_name": "交互屏组装A线",
    "fault_code": "E401",
    "occurred_at": "2026-08-04T10:30:00+08:00",
}


def as_bytes(**changes: Any) -> bytes:
    fields = {key: value for key, value in (EVENT | changes).items() if value is not None}
    return json.dumps(fields, ensure_ascii=False).encode(errors="surrogatepass")


def an_event(number: int) -> AlarmEvent:
    return AlarmEvent.parse(as_bytes(event_id=f"e-{number}"))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.line.intake.BLOCK_MILLISECONDS", 50)
    monkeypatch.setattr("worker.line.intake.CLAIM_EVERY_SECONDS", 0.2)
    monkeypatch.setattr("worker.line.intake.END_EVERY_SECONDS", 0.05)


@pytest.fixture
def broker(broker_url: str) -> Iterator[Redis]:
    with Redis.from_url(broker_url, protocol=2) as client:
        yield client


def count(database: Database, model: type[Alarm] | type[RejectedAlarm]) -> int:
    with database.reading() as session:
        return session.scalars(select(func.count()).select_from(model)).one()


def rejected(database: Database) -> list[RejectedAlarm]:
    with database.reading() as session:
        return list(session.scalars(select(RejectedAlarm).order_by(RejectedAlarm.id)))


def is_done(broker: Redis) -> bool:
    """There is a reader, nothing is left in the stream, and nothing is owed an acknowledgement."""
    if broker.xlen(STREAM) or not (groups := broker.xinfo_groups(STREAM) if broker.exists(STREAM) else []):
        return False
    return bool(groups[0]["pending"] == 0)


def test_alarms_pushed_before_the_first_worker_ran_are_taken_in_once(
    database: Database, broker: Redis, broker_url: str
) -> None:
    publish(broker, [an_event(number) for number in range(450)])
    publish(broker, [an_event(number) for number in range(50)])
    new = threading.Event()
    with running(Intake(database, broker_url, "reader", on_new=new.set)):
        eventually(lambda: is_done(broker), 30)
    assert new.is_set()
    assert count(database, Alarm) == 450
    assert count(database, RejectedAlarm) == 0
    with database.reading() as session:
        first = session.scalars(select(Alarm).where(Alarm.event_id == "e-0")).one()
    assert (first.line_name, first.fault_code, first.status) == ("交互屏组装A线", "E401", AlarmStatus.WAITING)


BAD = {
    "not JSON": (b"{not json", RejectReason.NOT_JSON, "JSON"),
    "empty": (b"", RejectReason.NOT_JSON, "JSON"),
    "a list": (b"[]", RejectReason.INVALID, "object"),
    "a missing field": (as_bytes(fault_code=None), RejectReason.INVALID, "fault_code"),
    "a naive time": (as_bytes(occurred_at="2026-08-04T10:30:00"), RejectReason.INVALID, "occurred_at"),
    "1 MB": (as_bytes(message="x" * 1_000_000), RejectReason.TOO_LARGE, "65536"),
    "a NUL byte": (as_bytes(line_name="A\x00B"), RejectReason.INVALID, "line_name"),
    "a lone surrogate, escaped": (
        as_bytes().replace(b'"E401"', b'"E\\ud800"'),
        RejectReason.INVALID,
        "fault_code",
    ),
    "a lone surrogate, in bytes": (as_bytes(equipment="\ud800"), RejectReason.NOT_UTF8, "UTF-8"),
    "bytes that are not UTF-8": (as_bytes().decode().encode("gbk"), RejectReason.NOT_UTF8, "UTF-8"),
    "a severity out of range": (as_bytes(severity=1001), RejectReason.INVALID, "severity"),
}


@pytest.mark.parametrize(("raw", "reason", "named"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_read_is_kept_with_the_reason_and_the_line_goes_on(
    database: Database, broker: Redis, broker_url: str, raw: bytes, reason: RejectReason, named: str
) -> None:
    publish(broker, [an_event(1)])
    broker.xadd(STREAM, {"event": raw})
    publish(broker, [an_event(2)])
    with running(Intake(database, broker_url, "reader")):
        eventually(lambda: is_done(broker), 30)
    assert count(database, Alarm) == 2
    [row] = rejected(database)
    assert (row.reason, row.raw, row.raw_bytes) == (reason, raw[: 64 * 1024], len(raw))
    assert named in row.detail


def test_an_entry_without_an_event_field_is_rejected_with_all_its_fields(
    database: Database, broker: Redis, broker_url: str
) -> None:
    broker.xadd(STREAM, {"evnet": as_bytes(), b"\xff": b"\x00"})
    with running(Intake(database, broker_url, "reader")):
        eventually(lambda: is_done(broker), 30)
    [row] = rejected(database)
    assert row.reason == RejectReason.NO_EVENT_FIELD
    assert row.raw == b"evnet=" + as_bytes() + b"\n\xff=\x00"
    assert "event" in row.detail


def test_other_fields_are_ignored_and_a_repeated_event_field_loses_nothing(
    database: Database, broker: Redis, broker_url: str
) -> None:
    one, two = as_bytes(event_id="one"), as_bytes(event_id="two")
    broker.execute_command(  # type: ignore[no-untyped-call]
        "XADD", STREAM, "*", "trace", "00-ab", "event", one, "event", two, "event", b"broken"
    )
    with running(Intake(database, broker_url, "reader")):
        eventually(lambda: is_done(broker), 30)
    assert count(database, Alarm) == 2
    assert [row.raw for row in rejected(database)] == [b"broken"]


def test_an_identity_with_other_content_is_rejected_and_the_first_one_stands(
    database: Database, broker: Redis, broker_url: str
) -> None:
    broker.xadd(STREAM, {"event": as_bytes()})
    broker.xadd(STREAM, {"event": as_bytes(fault_code="E999")})
    with running(Intake(database, broker_url, "reader")):
        eventually(lambda: is_done(broker), 30)
    [row] = rejected(database)
    assert row.reason == RejectReason.ID_REUSED
    with database.reading() as session:
        assert session.scalars(select(Alarm.fault_code)).all() == ["E401"]


def test_a_cleared_event_is_stored_and_waits_for_nothing(
    database: Database, broker: Redis, broker_url: str
) -> None:
    broker.xadd(STREAM, {"event": as_bytes(state="cleared")})
    with running(Intake(database, broker_url, "reader")):
        eventually(lambda: is_done(broker), 30)
    with database.reading() as session:
        assert session.scalars(select(Alarm.status)).all() == [AlarmStatus.STORED]


def read_and_die(broker: Redis, reader: str) -> None:
    broker.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
    assert broker.xreadgroup(GROUP, reader, {STREAM: ">"})


def test_what_a_dead_reader_was_given_is_taken_over(
    database: Database, broker: Redis, broker_url: str
) -> None:
    publish(broker, [an_event(number) for number in range(250)])
    broker.xadd(STREAM, {"event": b"broken"})
    read_and_die(broker, "dead")
    with running(Intake(database, broker_url, "alive", dead_reader_seconds=0.5)):
        eventually(lambda: is_done(broker), 30)
    assert count(database, Alarm) == 250
    assert count(database, RejectedAlarm) == 1


def test_what_a_living_reader_was_given_is_left_to_it(
    database: Database, broker: Redis, broker_url: str
) -> None:
    publish(broker, [an_event(1)])
    read_and_die(broker, "slow")
    publish(broker, [an_event(2)])
    with running(Intake(database, broker_url, "alive")):
        eventually(lambda: count(database, Alarm) == 1, 30)
    assert broker.xpending(STREAM, GROUP)["pending"] == 1


def test_a_reader_that_comes_back_begins_with_its_own_unfinished_entries(
    database: Database, broker: Redis, broker_url: str
) -> None:
    publish(broker, [an_event(number) for number in range(3)])
    read_and_die(broker, "reader")
    broker.xtrim(STREAM, maxlen=2, approximate=False)  # one was deleted meanwhile
    with running(Intake(database, broker_url, "reader")):
        eventually(lambda: is_done(broker), 10)
    assert count(database, Alarm) == 2


def test_nothing_is_acknowledged_while_the_database_is_away(
    database: Database, broker: Redis, broker_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    def rename(table: str, name: str) -> None:
        with database.writing() as session:
            session.execute(text(f"ALTER TABLE {table} RENAME TO {name}"))

    rename("alarm", "alarm_away")
    publish(broker, [an_event(number) for number in range(5)])
    with running(Intake(database, broker_url, "reader")):
        eventually(lambda: "the database failed, trying again until it is back" in caplog.text, 20)
        assert broker.xlen(STREAM) == 5
        assert broker.xpending(STREAM, GROUP)["pending"] == 5
        rename("alarm_away", "alarm")
        eventually(lambda: is_done(broker), 20)
    assert count(database, Alarm) == 5
    assert count(database, RejectedAlarm) == 0


def test_a_row_that_the_database_refuses_is_rejected_alone(
    database: Database, broker: Redis, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept = rows.accept

    def picky(session: Any, alarms: Any, *rest: Any) -> rows.Accepted:
        if any(alarm.event_id == "e-3" for _, _, alarm in alarms):
            raise DataError("INSERT", {}, Exception("value out of range"))
        return accept(session, alarms, *rest)

    monkeypatch.setattr(rows, "accept", picky)
    publish(broker, [an_event(number) for number in range(6)])
    broker.xadd(STREAM, {"event": b"broken"})
    with running(Intake(database, broker_url, "reader")):
        eventually(lambda: is_done(broker), 20)
    assert count(database, Alarm) == 5
    reasons = {row.raw: row.reason for row in rejected(database)}
    assert reasons == {
        an_event(3).to_json().encode(): RejectReason.INVALID,
        b"broken": RejectReason.NOT_JSON,
    }


def test_a_group_that_vanished_with_the_brokers_data_is_made_again(
    database: Database, broker: Redis, broker_url: str
) -> None:
    with running(Intake(database, broker_url, "reader")):
        publish(broker, [an_event(1)])
        eventually(lambda: count(database, Alarm) == 1, 20)
        broker.flushdb()
        publish(broker, [an_event(2)])
        eventually(lambda: count(database, Alarm) == 2, 20)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_large_rubbish_is_read_a_little_at_a_time(
    database: Database, broker: Redis, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.line.intake.BATCH", 4)
    monkeypatch.setattr("worker.line.intake.BATCH_BYTES", 2_500_000)
    monkeypatch.setattr("worker.line.intake.CLAIM_EVERY_SECONDS", 60)  # which reads too, and begins anew
    batches: list[int] = []

    class Noting(Intake):
        def _take_in(self, broker: Redis, entries: Sequence[Entry]) -> None:
            batches.extend([len(entries)] if entries else [])
            super()._take_in(broker, entries)

    for _ in range(8):
        broker.xadd(STREAM, {"event": b"x" * 1_000_000})
    publish(broker, [an_event(number) for number in range(12)])
    with running(Noting(database, broker_url, "reader")):
        eventually(lambda: is_done(broker), 20)
    assert (count(database, Alarm), count(database, RejectedAlarm)) == (12, 8)
    assert batches == [4, 2, 2, 2, 4, 4, 2]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_is_too_much_at_once_is_read_one_by_one(
    database: Database, broker: Redis, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that the broker cannot send in time, or that there is no memory for, was given to us all the
    same: it would come again and again."""
    publish(broker, [an_event(number) for number in range(20)])
    send = Redis.execute_command

    def slow(self: Redis, *words: Any, **options: Any) -> Any:
        reply = send(self, *words, **options)  # type: ignore[no-untyped-call]
        if words[0] == "XREADGROUP" and reply and len(reply[0][1]) > 2:
            raise TimeoutError("Timeout reading from socket")
        return reply

    monkeypatch.setattr(Redis, "execute_command", slow)
    intake = Intake(database, broker_url, "reader")
    monkeypatch.setattr(intake._back_off, "_longest_seconds", 0.01)
    with running(intake):
        eventually(lambda: count(database, Alarm) > 1, 20)
        monkeypatch.setattr(Redis, "execute_command", send)
        eventually(lambda: is_done(broker), 20)
    assert count(database, Alarm) == 20
