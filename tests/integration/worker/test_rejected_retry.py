"""`alarm-worker rejected retry` and `drop`: what becomes of what could not be read."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import select
from typer.testing import CliRunner

from db.models import Alarm, RejectedAlarm
from db.models.alarm import RejectReason
from db.session import Database
from producers.queue import STREAM
from tests.helpers.rejected_alarms import call, listed, reject
from tests.helpers.running import running
from tests.helpers.support import count, eventually
from worker.cli import app
from worker.line.intake import Intake

EVENT = json.dumps(
    {
        "event_id": "e-1",
        "source": "plc-7",
        "line_name": "交互屏组装A线",
        "fault_code": "E401",
        "occurred_at": "2026-08-04T10:30:00+08:00",
    },
    ensure_ascii=False,
).encode()


@pytest.fixture(autouse=True)
def _settings(database_url: str, broker_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("BROKER_URL", broker_url)
    monkeypatch.setattr("worker.line.intake.BLOCK_MILLISECONDS", 50)


@pytest.fixture
def broker(broker_url: str) -> Iterator[Redis]:
    with Redis.from_url(broker_url, protocol=2) as client:
        yield client


def statuses(database: Database) -> list[tuple[str, str | None]]:
    with database.reading() as session:
        rows = session.scalars(select(RejectedAlarm).order_by(RejectedAlarm.id))
        return [(row.status.value, row.closed_by) for row in rows]


def pushed(broker: Redis) -> Any:
    """The entries of the stream: their ids and fields."""
    return broker.xrange(STREAM)


def taken_in(database: Database, broker: Redis, broker_url: str) -> None:
    """What lies in the stream, by an intake."""
    with running(Intake(database, broker_url, "reader")):
        eventually(lambda: broker.exists(STREAM) and broker.xlen(STREAM) == 0, 30)


def test_what_can_be_read_by_now_becomes_an_alarm_when_it_is_retried(
    database: Database, broker: Redis, broker_url: str
) -> None:
    number = reject(database, "1-0", EVENT)
    done = call("retry", number, "--by", "王")
    assert done.exit_code == 0
    [(entry_id, fields)] = pushed(broker)
    assert done.output == f"rejected alarm {number}: pushed again as entry {entry_id.decode()}\n"
    assert fields == {b"event": EVENT}
    taken_in(database, broker, broker_url)
    assert statuses(database) == [("retried", "王")]
    assert count(database, Alarm) == 1
    [row] = listed("--all")
    assert row["closed_at"] is not None


def test_what_still_cannot_be_read_comes_back_as_one_of_its_own_and_does_not_go_round(
    database: Database, broker: Redis, broker_url: str
) -> None:
    reject(database, "1-0", b"\xff\x00", RejectReason.NOT_UTF8)
    for times in (1, 2):
        assert call("retry", "--all-open", "--by", "王").output == "1 pushed again\n"
        assert len(pushed(broker)) == 1
        taken_in(database, broker, broker_url)
        assert statuses(database) == [*[("retried", "王")] * times, ("open", None)]
    assert {row["raw_bytes"] for row in listed("--all")} == {2}


def test_an_event_that_was_pushed_under_another_name_is_found_in_its_entry(
    database: Database, broker: Redis
) -> None:
    reason = RejectReason.NO_EVENT_FIELD
    number = reject(database, "1-0", b"trace=00-ab\ndata=" + EVENT + b"\nn=1", reason)
    assert call("retry", number, "--by", "王").exit_code == 0
    assert [fields for _, fields in pushed(broker)] == [{b"event": EVENT}]


REFUSED = {
    "cut": (b"x" * 70_000, RejectReason.TOO_LARGE, "only the first 65536 of 70000 bytes are kept"),
    "not a task": (EVENT, RejectReason.NOT_A_TASK, "lay on Celery's own list"),
    "another alarm's id": (EVENT, RejectReason.ID_REUSED, "send it under an event_id of its own"),
    "no event": (
        b"evnet=1\nprobe=2",
        RejectReason.NO_EVENT_FIELD,
        "none of its other fields reads as an event",
    ),
    "two events": (
        b"a=" + EVENT + b"\nb=" + EVENT,
        RejectReason.NO_EVENT_FIELD,
        "2 of its other fields reads as an event",
    ),
}


@pytest.mark.parametrize(("raw", "reason", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_retried_is_refused_with_the_reason_and_stays_open(
    database: Database, broker: Redis, raw: bytes, reason: RejectReason, said: str
) -> None:
    number, good = reject(database, "1-0", raw, reason), reject(database, "2-0", b"{}", RejectReason.INVALID)
    done = call("retry", number, good, "--by", "王")
    assert done.exit_code == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert statuses(database) == [("open", None), ("retried", "王")], "the other one is retried all the same"
    assert len(pushed(broker)) == 1
    again = call("retry", "--all-open", "--by", "王")
    assert (again.exit_code, again.output) == (0, "0 pushed again, 1 cannot be; name one to see why\n")


def test_what_was_closed_cannot_be_closed_again(database: Database, broker: Redis) -> None:
    number = reject(database, "1-0", EVENT)
    assert (
        call("drop", number, "--by", "王", "--why", "试机").output
        == f"rejected alarm {number}: dropped, by 王\n"
    )
    for command in ("drop", "retry"):
        done = call(command, number, "--by", "李")
        assert done.exit_code == 1
        assert done.stderr == f"error: rejected alarm {number} is not open; it was dropped by '王'\n"
    assert statuses(database) == [("dropped", "王")]
    assert not broker.exists(STREAM)
    found = json.loads(call("show", number, "--json").output)
    assert found["raw"] == EVENT.decode(), "its bytes stay"
    assert found["detail"] == "is not UTF-8 from byte 3 on; dropped: 试机"


def test_all_that_are_open_of_one_reason_are_dropped_at_once(database: Database) -> None:
    reject(database, "1-0", b"x", RejectReason.NOT_JSON)
    reject(database, "2-0", b"x", RejectReason.NOT_A_TASK)
    reject(database, "3-0", b"x", RejectReason.NOT_A_TASK)
    assert call("drop", "--all-open", "--reason", "not_a_task", "--by", "王").output == "2 dropped\n"
    assert [status for status, _ in statuses(database)] == ["open", "dropped", "dropped"]


@pytest.mark.parametrize(
    "arguments",
    [["--by", "王"], ["1", "--all-open", "--by", "王"], ["1", "--reason", "invalid", "--by", "王"]],
)
@pytest.mark.parametrize("command", ["retry", "drop"])
def test_it_must_be_clear_which_ones_are_meant(
    database: Database, command: str, arguments: Sequence[str]
) -> None:
    reject(database, "1-0", b"x")
    assert call(command, *arguments).exit_code == 2
    assert statuses(database) == [("open", None)]


def test_without_a_broker_nothing_is_marked(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER_URL", "redis://:secret@127.0.0.1:1/0")
    done = call("retry", reject(database, "1-0", EVENT), "--by", "王")
    assert done.exit_code == 1
    assert "0 were pushed again before that" in done.stderr
    assert "secret" not in done.stderr
    assert statuses(database) == [("open", None)]


def test_one_that_another_person_closed_meanwhile_is_said(
    database: Database, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = reject(database, "1-0", EVENT)
    push = Redis.xadd

    def pushes_while_another_drops(self: Redis, *arguments: Any, **options: Any) -> Any:
        assert CliRunner().invoke(app, ["rejected", "drop", number, "--by", "李"]).exit_code == 0
        return push(self, *arguments, **options)

    monkeypatch.setattr(Redis, "xadd", pushes_while_another_drops)
    done = call("retry", number, "--by", "王")
    assert done.exit_code == 1
    assert "dropped by '李'" in done.stderr
    assert statuses(database) == [("dropped", "李")]
