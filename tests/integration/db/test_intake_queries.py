"""Alarms come into the database once each, however often and however many at once they are delivered."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from db.models import Alarm, RejectedAlarm
from db.models.alarm import AlarmStatus, RejectReason
from db.queries.alarms.intake import Accepted, NewAlarm, Unreadable, accept
from db.session import Database
from tests.helpers.support import (
    NOW,
    accepted,
    an_alarm,
    at_once,
    broken_off,
    entries,
    eventually,
    only_postgresql,
)


def alarms_in(database: Database) -> list[Alarm]:
    with database.reading() as session:
        return list(session.scalars(select(Alarm).order_by(Alarm.id)).all())


def rejected_in(database: Database) -> list[RejectedAlarm]:
    with database.reading() as session:
        return list(session.scalars(select(RejectedAlarm).order_by(RejectedAlarm.id)).all())


def test_an_alarm_is_kept_as_it_was_sent_and_waits_at_once(database: Database) -> None:
    tokyo = datetime(2026, 8, 4, 11, 29, 59, 123456, tzinfo=timezone(timedelta(hours=9)))
    sent = an_alarm(
        fault_code="Ｅ-401",
        message="触摸屏无响应 😀 'quoted' \\ \n second line",
        occurred_at=tokyo,
        attributes={"温度": 71.5, "nested": [{"a": None}], "nul": "\x00"},
        equipment="交互屏贴合机A1",
        severity=1000,
    )
    with database.writing() as session:
        assert accept(session, entries([sent]), [], NOW) == Accepted(new=1, repeated=0, rejected=0)
    [row] = alarms_in(database)
    assert (row.source, row.event_id, row.content_digest) == (sent.source, sent.event_id, sent.content_digest)
    assert (row.line_name, row.equipment, row.equipment_class) == (
        "交互屏组装A线",
        "交互屏贴合机A1",
        "贴合机",
    )
    assert (row.fault_code, row.code_key, len(row.fingerprint)) == ("Ｅ-401", "E401", 64)
    assert (row.message, row.attributes, row.severity) == (sent.message, sent.attributes, 1000)
    assert row.occurred_at == datetime(2026, 8, 4, 2, 29, 59, 123456, tzinfo=UTC)
    assert (row.status, row.attempt, row.failures) == (AlarmStatus.WAITING, 0, 0)
    assert row.next_attempt_at == row.received_at == NOW
    assert row.work_order_id is None


def test_a_cleared_event_is_stored_and_waits_for_nothing(database: Database) -> None:
    accepted(database, an_alarm(state="cleared"))
    assert [row.status for row in alarms_in(database)] == [AlarmStatus.STORED]


def test_one_code_written_in_many_ways_has_one_fingerprint(database: Database) -> None:
    written = ("E401", "e-401", "Err 401", "E401.0")
    accepted(database, *(an_alarm(equipment="A1", fault_code=code) for code in written))
    assert len({row.fingerprint for row in alarms_in(database)}) == 1
    accepted(database, an_alarm(equipment="A1", fault_code="E4010"))
    assert len({row.fingerprint for row in alarms_in(database)}) == 2


def test_entries_delivered_again_change_nothing(database: Database) -> None:
    sent = entries(an_alarm() for _ in range(30))
    reused = entries([replace(sent[0][2], message="other", content_digest="f" * 64)])
    broken = [Unreadable("9-1", b"{", RejectReason.NOT_JSON, "not JSON")]
    batch = [*sent, *reused]
    with database.writing() as session:
        assert accept(session, batch, broken, NOW) == Accepted(new=30, repeated=0, rejected=2)
    before = [(row.id, row.message, row.received_at) for row in alarms_in(database)]
    later = NOW + timedelta(minutes=1)
    with database.writing() as session:
        assert accept(session, batch, broken, later) == Accepted(new=0, repeated=30, rejected=2)
    assert [(row.id, row.message, row.received_at) for row in alarms_in(database)] == before
    assert len(rejected_in(database)) == 2


def test_a_repeat_in_the_same_batch_is_one_row(database: Database) -> None:
    alarm = an_alarm()
    with database.writing() as session:
        assert accept(session, entries([alarm] * 5), [], NOW) == Accepted(new=1, repeated=4, rejected=0)
    assert len(alarms_in(database)) == 1


@pytest.mark.parametrize("apart", [False, True], ids=["in one batch", "in two batches"])
def test_an_identity_with_other_content_is_rejected_and_the_first_one_stays(
    database: Database, apart: bool
) -> None:
    first = an_alarm(source="边缘盒子", event_id="同一个")
    other = an_alarm(source="边缘盒子", event_id="同一个", message="something else")
    sent = entries([first, other, first])
    batches = [sent[:1], sent[1:]] if apart else [sent]
    counted = []
    for batch in batches:
        with database.writing() as session:
            counted.append(accept(session, batch, [], NOW))
    assert sum(each.new for each in counted) == 1
    assert sum(each.repeated for each in counted) == 1
    assert sum(each.rejected for each in counted) == 1
    [row] = alarms_in(database)
    assert row.content_digest == first.content_digest
    [rejected] = rejected_in(database)
    assert (rejected.reason, rejected.entry_id) == (RejectReason.ID_REUSED, sent[1][0])
    assert rejected.raw == sent[1][1]
    assert "同一个" in rejected.detail
    assert "边缘盒子" in rejected.detail


def test_the_same_event_id_from_two_sources_is_two_alarms(database: Database) -> None:
    accepted(database, an_alarm(source="a", event_id="1"), an_alarm(source="b", event_id="1"))
    accepted(database, an_alarm(source="a", event_id="1 "), an_alarm(source="A", event_id="1"))
    assert len(alarms_in(database)) == 4


def test_what_cannot_be_read_is_kept_with_its_bytes_its_size_and_its_digest(database: Database) -> None:
    small = bytes(range(256))
    big = b"\x00\xff" * 500_000
    entries_read = [
        Unreadable("5-0", small, RejectReason.NOT_UTF8, "byte 128 is not UTF-8"),
        Unreadable("5-1", big, RejectReason.TOO_LARGE, "1000000 bytes; at most 65536"),
        Unreadable("5-2", b"", RejectReason.NO_EVENT_FIELD, "nul \x00 and surrogate \ud800 in the text"),
    ]
    with database.writing() as session:
        assert accept(session, [], entries_read, NOW) == Accepted(new=0, repeated=0, rejected=3)
    rows = rejected_in(database)
    assert [row.raw for row in rows] == [small, big[: 64 * 1024], b""]
    assert [row.raw_bytes for row in rows] == [256, 1_000_000, 0]
    assert [row.raw_digest for row in rows] == [sha256(raw).hexdigest() for raw in (small, big, b"")]
    assert [row.reason for row in rows] == [entry.reason for entry in entries_read]
    assert rows[2].detail == "nul \ufffd and surrogate \ufffd in the text"
    assert {row.received_at for row in rows} == {NOW}


def test_the_same_unreadable_bytes_in_two_entries_are_two_rows(database: Database) -> None:
    broken = [Unreadable(f"7-{n}", b"{", RejectReason.NOT_JSON, "not JSON") for n in (1, 2, 1)]
    with database.writing() as session:
        accept(session, [], broken, NOW)
    assert [row.entry_id for row in rejected_in(database)] == ["7-1", "7-2"]


def test_nothing_is_kept_of_a_batch_whose_transaction_is_rolled_back(database: Database) -> None:
    sent = entries(an_alarm() for _ in range(3))
    with broken_off(database) as session:
        assert accept(session, sent, [], NOW).new == 3
    assert alarms_in(database) == []
    with database.writing() as session:
        assert accept(session, sent, [], NOW).new == 3


def test_an_empty_batch_is_nothing(database: Database) -> None:
    with database.writing() as session:
        assert accept(session, [], [], NOW) == Accepted(new=0, repeated=0, rejected=0)


def test_a_large_batch_keeps_the_order_of_arrival(database: Database) -> None:
    names = [f"event-{number:05}" for number in range(3000)]
    random.Random(7).shuffle(names)
    batch = entries(an_alarm(event_id=name) for name in names)
    with database.writing() as session:
        assert accept(session, batch, [], NOW).new == 3000
    assert [row.event_id for row in alarms_in(database)] == names
    with database.writing() as session:
        assert accept(session, batch, [], NOW).repeated == 3000


def test_twenty_intakes_given_the_same_alarms_in_any_order_keep_each_once(database: Database) -> None:
    sent = [an_alarm() for _ in range(100)]
    impostors = [replace(alarm, message="other", content_digest="0" * 64) for alarm in sent[:5]]
    batch = [*entries(sent), *entries(impostors)]

    def take(seed: int) -> Accepted:
        mine = list(batch)
        random.Random(seed).shuffle(mine)
        with database.writing() as session:
            return accept(session, mine, [], NOW)

    counted = at_once(take, range(20))
    assert sum(each.new for each in counted) == 100
    assert all(each.new + each.repeated + each.rejected == 105 for each in counted)
    rows = alarms_in(database)
    assert {row.event_id for row in rows} == {alarm.event_id for alarm in sent}
    assert len(rows) == 100
    # Of a pair with one identity either may have come first; the other one is rejected each time.
    assert all(each.rejected == 5 for each in counted)
    assert {row.reason for row in rejected_in(database)} == {RejectReason.ID_REUSED}
    assert len(rejected_in(database)) == 5


@only_postgresql
@pytest.mark.parametrize("what", ["alarms", "unreadable entries"])
def test_two_intakes_that_meet_in_the_middle_do_not_break_each_other_off(
    database: Database, what: str
) -> None:
    """A third one holds what stands in the middle of both batches, so that each has begun when it lets go."""
    names = ["1", "2", "3"]
    if what == "alarms":
        sent = {name: entries([an_alarm(event_id=name)]) for name in names}
        broken: dict[str, list[Unreadable]] = {name: [] for name in names}
    else:
        sent = {name: [] for name in names}
        broken = {name: [Unreadable(name, b"{", RejectReason.NOT_JSON, "not JSON")] for name in names}

    def take(session: Session, order: list[str]) -> Accepted:
        batch = [entry for name in order for entry in sent[name]]
        return accept(session, batch, [entry for name in order for entry in broken[name]], NOW)

    def intake(order: list[str]) -> Accepted:
        with database.writing() as session:
            return take(session, order)

    def both_wait() -> bool:
        with database.reading() as session:
            waiting = session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted"))
            return bool(waiting == 2)

    with ThreadPoolExecutor(2) as threads:
        with broken_off(database) as session:
            take(session, ["2"])
            taking = [threads.submit(intake, order) for order in (names, names[::-1])]
            eventually(both_wait, 10)
        counted = [each.result() for each in taking]
    assert sorted(each.new for each in counted) == [0, len(alarms_in(database))]
    assert len(alarms_in(database)) + len(rejected_in(database)) == 3


def test_an_alarm_that_the_database_refuses_takes_only_its_own_batch_along(database: Database) -> None:
    good, bad = an_alarm(), replace(an_alarm(), occurred_at=datetime(2026, 1, 1))  # noqa: DTZ001

    def take(batch: list[NewAlarm]) -> None:
        with database.writing() as session:
            accept(session, entries(batch), [], NOW)

    with pytest.raises(Exception, match="without a zone"):
        take([good, bad])
    assert alarms_in(database) == []
    take([good])
    assert [row.event_id for row in alarms_in(database)] == [good.event_id]
