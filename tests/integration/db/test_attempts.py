"""An alarm that nobody brings to an end: each attempt is counted, the next ones come ever later."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from db.models import AgentRun, Alarm, WorkOrder
from db.models.alarm import AlarmStatus, RunOutcome
from db.queries.alarms.attempts import POISON_AFTER
from db.queries.alarms.dispatch import take_due
from db.queries.alarms.lease import claim, fail, give_back, undispatch
from db.session import Database
from tests.helpers.support import LEASE, NOW, accepted, an_alarm, claimed, settled

REDISPATCH = timedelta(seconds=20)
TICK = timedelta(microseconds=1)
FAILED_WAITS = {
    1: (2, 2),
    2: (10, 10),
    3: (2, 2),
    4: (60, 75),
    5: (600, 750),
    6: (3600, 4500),
    9: (3600, 4500),
}
LAPSED_WAITS = FAILED_WAITS | {1: (0, 0), 2: (0, 0), 3: (0, 0)}


def take(database: Database, now: datetime, room: int = 100) -> list[int]:
    with database.writing() as session:
        return [due.id for due in take_due(session, room, now, REDISPATCH)]


def state(database: Database, alarm_id: int) -> Alarm:
    with database.reading() as session:
        return session.get_one(Alarm, alarm_id)


def fails(database: Database, alarm_id: int, now: datetime) -> datetime:
    """An attempt that fails at once; when."""
    attempt = claimed(database, alarm_id, now)
    with database.writing() as session:
        assert fail(session, alarm_id, attempt, now, "TimeoutError") is not None
    return now


def lapses(database: Database, alarm_id: int, now: datetime) -> datetime:
    """An attempt whose worker dies; when that was noticed."""
    claimed(database, alarm_id, now)
    take(database, now + LEASE, room=0)
    return now + LEASE


@pytest.mark.parametrize(("end", "waits"), [(fails, FAILED_WAITS), (lapses, LAPSED_WAITS)])
@pytest.mark.parametrize("failures", FAILED_WAITS)
def test_each_failure_makes_the_next_attempt_wait_longer(
    database: Database,
    failures: int,
    end: Callable[[Database, int, datetime], datetime],
    waits: dict[int, tuple[int, int]],
) -> None:
    [row] = accepted(database, an_alarm())
    moment = NOW
    for number in range(1, failures + 1):
        ended = end(database, row, moment)
        kept = state(database, row)
        assert kept.failures == number
        assert kept.status is (AlarmStatus.POISON if number >= POISON_AFTER else AlarmStatus.WAITING)
        assert (kept.lease_owner, kept.lease_until) == (None, None)
        moment = kept.next_attempt_at
    least, most = (ended + timedelta(seconds=seconds) for seconds in waits[failures])
    assert least <= moment <= most
    if moment > ended:
        assert take(database, moment - TICK) == []
        with database.writing() as session:
            assert claim(session, row, "a task that is late", moment - TICK, LEASE) is None
    assert take(database, moment) == [row]


def test_an_alarm_that_kills_its_worker_each_time_does_so_ever_more_rarely(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    moment, kills = NOW, 0
    while moment < NOW + timedelta(days=1):
        assert take(database, moment) == [row]
        lapses(database, row, moment)
        kills += 1
        moment = state(database, row).next_attempt_at
    assert 6 + 24 * 3600 // 4600 <= kills <= 6 + 24, "not once every lease, which would be 2880 times"


def test_a_late_task_cannot_take_up_a_lapsed_alarm_that_has_to_wait(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    moment = NOW
    for _ in range(POISON_AFTER):
        moment = lapses(database, row, moment)
    claimed(database, row, moment)
    lapsed = moment + LEASE
    with database.writing() as session:
        assert claim(session, row, "a task that is late", lapsed, LEASE) is None
    assert take(database, lapsed) == []
    assert state(database, row).failures == POISON_AFTER + 1


def test_alarms_whose_worker_died_of_one_of_them_do_not_meet_again_for_ever(database: Database) -> None:
    rows = accepted(database, *(an_alarm(equipment=f"贴合机{n}") for n in range(16)))
    moment = NOW
    for _ in range(POISON_AFTER + 1):
        for row in rows:
            claimed(database, row, moment)
        moment += LEASE
        take(database, moment, room=0)
    apart = {state(database, row).next_attempt_at for row in rows}
    assert len(apart) == len(rows)
    assert max(apart) - min(apart) > timedelta(seconds=1)


@pytest.mark.parametrize("let_go", ["given back", "not begun"])
def test_a_clean_stop_is_not_counted_and_leaves_poison_what_it_is(database: Database, let_go: str) -> None:
    [row] = accepted(database, an_alarm())
    moment = NOW
    for _ in range(POISON_AFTER):
        moment = lapses(database, row, moment)
    assert take(database, moment) == [row]
    with database.writing() as session:
        if let_go == "given back":
            held = claim(session, row, "host-1", moment, LEASE)
            assert held is not None
            assert give_back(session, row, held.attempt, moment)
        else:
            assert undispatch(session, row, moment)
    kept = state(database, row)
    assert (kept.status, kept.failures, kept.next_attempt_at) == (AlarmStatus.POISON, POISON_AFTER, moment)
    assert take(database, moment) == [row]


def test_an_attempt_knows_whether_the_alarm_is_poison(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    known, moment = [], NOW
    for _ in range(POISON_AFTER + 1):
        with database.writing() as session:
            held = claim(session, row, "host-1", moment, LEASE)
            assert held is not None
            known.append(held.is_poison)
            fail(session, row, held.attempt, moment, "TimeoutError")
        moment = state(database, row).next_attempt_at
    assert known == [False, False, False, True]


def test_a_poison_alarm_that_gets_its_order_has_ended(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    moment = NOW
    for _ in range(POISON_AFTER):
        moment = lapses(database, row, moment)
    settled(database, row, claimed(database, row, moment), now=moment)
    assert state(database, row).status is AlarmStatus.SETTLED
    assert take(database, moment + timedelta(days=30)) == []
    with database.reading() as session:
        assert len(session.scalars(select(WorkOrder)).all()) == 1
        outcomes = session.scalars(select(AgentRun.outcome).order_by(AgentRun.attempt)).all()
    assert outcomes == [RunOutcome.LAPSED] * POISON_AFTER + [RunOutcome.SETTLED]


def test_lapses_are_seen_even_when_there_is_no_room_for_a_task(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    claimed(database, row)
    assert take(database, NOW + LEASE, room=0) == []
    assert (state(database, row).status, state(database, row).failures) == (AlarmStatus.WAITING, 1)
