"""Clocks that are set back or forward, and machines whose clocks differ: alarms go on, and have one order."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update

from db.errors import LeaseLost
from db.models import Alarm, WorkOrder
from db.models.alarm import AlarmStatus
from db.queries.alarms.attempts import CLOCKS_DIFFER
from db.queries.alarms.dispatch import outstanding, take_due
from db.queries.alarms.lease import claim, fail, renew
from db.queries.alarms.settle import settle
from db.queries.clock import now as database_now
from db.session import Database
from tests.helpers.support import (
    LEASE,
    NOW,
    ZONE,
    accepted,
    an_alarm,
    an_order,
    claimed,
    only_postgresql,
    settled,
)

REDISPATCH = timedelta(seconds=20)
TICK = timedelta(microseconds=1)
BACK = NOW - timedelta(hours=3)
FORWARD = NOW + timedelta(hours=3)


def take(database: Database, now: datetime) -> list[int]:
    with database.writing() as session:
        return [due.id for due in take_due(session, 100, now, REDISPATCH)]


def state(database: Database, alarm_id: int) -> Alarm:
    with database.reading() as session:
        return session.get_one(Alarm, alarm_id)


def waits_until(database: Database, alarm_id: int, moment: datetime, failures: int) -> None:
    status = AlarmStatus.POISON if failures >= 3 else AlarmStatus.WAITING
    with database.writing() as session:
        mine = update(Alarm).where(Alarm.id == alarm_id)
        session.execute(mine.values(status=status, next_attempt_at=moment, failures=failures))


@pytest.mark.parametrize("ahead", [timedelta(seconds=1), CLOCKS_DIFFER, timedelta(hours=3)])
def test_an_alarm_that_was_never_tried_is_due_whatever_the_clock_says(
    database: Database, ahead: timedelta
) -> None:
    [row] = accepted(database, an_alarm(), now=NOW + ahead)
    assert take(database, NOW) == [row]
    [other] = accepted(database, an_alarm(equipment="另一台"), now=NOW + ahead)
    assert claimed(database, other, now=NOW) == 1


@pytest.mark.parametrize(
    ("failures", "longest"), [(1, 2), (2, 10), (3, 2), (4, 75), (5, 750), (6, 4500), (40, 4500)]
)
def test_a_wait_that_is_longer_than_any_was_written_by_another_clock(
    database: Database, failures: int, longest: int
) -> None:
    [row] = accepted(database, an_alarm())
    latest = NOW + timedelta(seconds=longest) + CLOCKS_DIFFER
    waits_until(database, row, latest, failures)
    assert take(database, NOW) == []
    with database.writing() as session:
        assert claim(session, row, "host-1", NOW, LEASE) is None
    waits_until(database, row, latest + TICK, failures)
    assert take(database, NOW) == [row]


def test_a_dead_workers_lease_ends_although_the_clock_was_set_back(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    assert take(database, BACK) == [row]
    kept = state(database, row)
    assert (kept.attempt, kept.failures, kept.lease_until) == (1, 1, None)
    with pytest.raises(LeaseLost):
        settled(database, row, attempt, now=BACK)
    settled(database, row, claimed(database, row, now=BACK), now=BACK)


def test_a_lease_of_any_length_is_kept_while_the_clocks_differ_little(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    for lease in (LEASE, timedelta(hours=1)):
        attempt = claimed(database, row, lease=lease)
        assert take(database, NOW - CLOCKS_DIFFER) == []
        assert state(database, row).status is AlarmStatus.RUNNING
        with database.writing() as session:
            assert fail(session, row, attempt, NOW, "TimeoutError")
        waits_until(database, row, NOW, 0)


def test_a_renewal_after_the_clock_was_set_back_gives_the_lease_its_length_again(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    with database.writing() as session:
        assert renew(session, row, attempt, BACK, LEASE)
    assert take(database, BACK) == []
    kept = state(database, row)
    assert (kept.lease_until, kept.lease_seconds) == (BACK + LEASE, LEASE.total_seconds())
    assert take(database, BACK + LEASE) == [row]


def test_the_lease_of_an_older_worker_has_an_end_and_no_length(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    claimed(database, row)
    with database.writing() as session:
        session.execute(update(Alarm).values(lease_seconds=None))
    assert take(database, BACK) == []
    assert take(database, NOW + LEASE - TICK) == []
    assert take(database, NOW + LEASE) == [row]


def test_a_task_sent_in_the_future_is_lost_and_takes_no_room(database: Database) -> None:
    rows = accepted(database, an_alarm(), an_alarm(equipment="另一台"))
    assert take(database, NOW) == rows

    def count(now: datetime) -> int:
        with database.reading() as session:
            return outstanding(session, now, REDISPATCH)

    assert count(NOW - CLOCKS_DIFFER) == 2
    assert take(database, NOW - CLOCKS_DIFFER) == []
    assert count(BACK) == 0
    assert take(database, BACK) == rows
    assert count(BACK) == 2


def test_a_clock_that_is_set_forward_ends_leases_early_and_leaves_one_order(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    first = claimed(database, row)
    assert take(database, FORWARD) == [row]
    second = claimed(database, row, now=FORWARD)
    for late in (NOW, FORWARD):
        with database.writing() as session:
            assert not renew(session, row, first, late, LEASE)
            assert fail(session, row, first, late, "TimeoutError") is None
        with pytest.raises(LeaseLost):
            settled(database, row, first, now=late)
    settled(database, row, second, now=FORWARD)
    with database.reading() as session:
        assert len(session.scalars(select(WorkOrder)).all()) == 1


def test_order_numbers_stay_without_gap_or_double_when_the_date_goes_back(database: Database) -> None:
    days = [NOW, FORWARD + timedelta(days=1), NOW, NOW - timedelta(days=1), FORWARD + timedelta(days=1), NOW]
    ids = []
    for number, moment in enumerate(days):
        [row] = accepted(database, an_alarm(equipment=f"设备{number}"), now=moment)
        attempt = claimed(database, row, now=moment)
        with database.writing() as session:
            ids.append(settle(session, row, attempt, an_order(), moment, ZONE))
    assert ids == [
        "WO-20260804-0001",
        "WO-20260805-0001",
        "WO-20260804-0002",
        "WO-20260803-0001",
        "WO-20260805-0002",
        "WO-20260804-0003",
    ]


def test_the_clock_of_all_workers_is_aware_and_goes_on(database: Database) -> None:
    with database.reading() as session:
        first, second = database_now(session), database_now(session)
    assert first < second < first + timedelta(minutes=1)
    assert first.utcoffset() == timedelta(0)


@only_postgresql
def test_on_a_server_the_clock_is_the_servers(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(datetime):
        @classmethod
        def now(cls, _zone: object = None) -> "Wrong":
            raise AssertionError("a machine's own clock was asked")

    monkeypatch.setattr("db.queries.clock.datetime", Wrong)
    with database.reading() as session:
        assert database_now(session).year >= 2026
