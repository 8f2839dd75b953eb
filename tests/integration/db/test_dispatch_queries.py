"""What is due is taken once, the worst first; what seems lost is taken again."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import event, select, text, update

from db.models import AgentRun, Alarm
from db.models.alarm import AlarmStatus, RunOutcome
from db.queries.alarms.dispatch import DueAlarm, look_ahead, outstanding, take_due
from db.queries.alarms.lease import claim, fail, give_back
from db.queries.alarms.settle import settle
from db.session import Database
from tests.helpers.support import (
    LEASE,
    NOW,
    ZONE,
    accepted,
    an_alarm,
    an_order,
    at_once,
    claimed,
    only_postgresql,
)

REDISPATCH = timedelta(seconds=20)
TICK = timedelta(microseconds=1)


def take(database: Database, room: int = 100, now: datetime = NOW) -> list[DueAlarm]:
    with database.writing() as session:
        return take_due(session, room, now, REDISPATCH)


def ids(taken: list[DueAlarm]) -> list[int]:
    return [alarm.id for alarm in taken]


def alarm(database: Database, alarm_id: int) -> Alarm:
    with database.reading() as session:
        return session.get_one(Alarm, alarm_id)


def test_the_worst_severity_comes_first_then_the_oldest(database: Database) -> None:
    rows = accepted(database, *(an_alarm(severity=severity) for severity in (300, 700, 1, 700, 1000)))
    assert ids(take(database)) == [rows[4], rows[1], rows[3], rows[0], rows[2]]


def test_no_more_are_taken_than_there_is_room_for(database: Database) -> None:
    rows = accepted(database, *(an_alarm() for _ in range(5)))
    assert ids(take(database, room=2)) == rows[:2]
    assert ids(take(database, room=0)) == []
    assert ids(take(database, room=-3)) == []
    assert ids(take(database, room=9)) == rows[2:]


def test_what_is_taken_says_what_a_task_shows(database: Database) -> None:
    sent = an_alarm(fault_code="e-401", severity=650)
    [row] = accepted(database, sent)
    assert take(database) == [DueAlarm(row, "交互屏组装A线", "e-401", sent.event_id, 650)]
    kept = alarm(database, row)
    assert (kept.status, kept.dispatched_at, kept.attempt) == (AlarmStatus.DISPATCHED, NOW, 0)


def test_a_waiting_alarm_is_due_at_its_time_and_not_before(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    with database.writing() as session:
        rest = fail(session, row, attempt, NOW, "TimeoutError")
    assert rest
    retry_at = NOW + rest
    assert ids(take(database, now=retry_at - TICK)) == []
    assert ids(take(database, now=retry_at)) == [row]


def test_a_dispatched_alarm_is_taken_again_once_its_task_seems_lost(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    assert ids(take(database)) == [row]
    assert ids(take(database, now=NOW + REDISPATCH - TICK)) == []
    assert ids(take(database, now=NOW + REDISPATCH)) == [row]
    assert ids(take(database, now=NOW + REDISPATCH)) == []
    assert alarm(database, row).failures == 0


def test_a_running_alarm_is_taken_only_when_its_lease_has_lapsed(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    claimed(database, row)
    assert ids(take(database, now=NOW + LEASE - TICK)) == []
    assert ids(take(database, now=NOW + LEASE)) == [row]
    kept = alarm(database, row)
    assert (kept.status, kept.attempt, kept.failures) == (AlarmStatus.DISPATCHED, 1, 1)
    assert (kept.lease_owner, kept.lease_until) == (None, None)
    with database.reading() as session:
        [run] = session.scalars(select(AgentRun)).all()
        assert (run.outcome, run.ended_at) == (RunOutcome.LAPSED, NOW + LEASE)


def test_an_ended_alarm_is_never_taken(database: Database) -> None:
    settled, _stored = accepted(database, an_alarm(), an_alarm(state="cleared"))
    attempt = claimed(database, settled)
    with database.writing() as session:
        settle(session, settled, attempt, an_order(), NOW, ZONE)
    assert take(database, now=NOW + timedelta(days=400)) == []


def test_outstanding_counts_fresh_tasks_only(database: Database) -> None:
    rows = accepted(database, *(an_alarm() for _ in range(4)))
    assert ids(take(database, room=2)) == rows[:2]
    late = NOW + timedelta(seconds=10)
    assert ids(take(database, room=1, now=late)) == rows[2:3]
    claimed(database, rows[0], now=late)

    def count(now: datetime) -> int:
        with database.reading() as session:
            return outstanding(session, now, REDISPATCH)

    assert count(late) == 2
    assert count(NOW + REDISPATCH) == 1
    assert count(late + REDISPATCH) == 0


def test_two_dispatchers_at_once_never_take_the_same_alarm(database: Database) -> None:
    rows = accepted(database, *(an_alarm() for _ in range(300)))

    def dispatch(_number: int) -> list[int]:
        mine: list[int] = []
        while taken := take(database, room=7):
            mine += ids(taken)
        return mine

    taken = [number for mine in at_once(dispatch, range(8)) for number in mine]
    assert sorted(taken) == sorted(rows)


@only_postgresql
def test_a_dispatcher_does_not_wait_for_another_ones_rows(database: Database) -> None:
    rows = accepted(database, *(an_alarm() for _ in range(4)))
    with database.writing() as first:
        assert ids(take_due(first, 2, NOW, REDISPATCH)) == rows[:2]
        with database.writing() as second:
            second.execute(text("SET LOCAL lock_timeout = '2s'"))
            assert ids(take_due(second, 10, NOW, REDISPATCH)) == rows[2:]


def test_dispatchers_and_claims_at_once_leave_every_alarm_with_one_holder(database: Database) -> None:
    """Leases lapse while claims and dispatchers race for the same rows."""
    rows = accepted(database, *(an_alarm() for _ in range(20)))
    for row in rows:
        claimed(database, row)
    lapsed = NOW + LEASE

    def race(number: int) -> list[int]:
        won = []
        for row in rows:
            if number % 4 == 0:
                take(database, room=3, now=lapsed)
            with database.writing() as session:
                if claim(session, row, f"worker-{number}", lapsed, LEASE):
                    won.append(row)
        return won

    won = [row for each in at_once(race, range(12)) for row in each]
    assert sorted(won) == sorted(rows)
    with database.reading() as session:
        runs = session.execute(select(AgentRun.alarm_id, AgentRun.attempt, AgentRun.outcome)).all()
        alarms = session.execute(select(Alarm.status, Alarm.attempt, Alarm.failures)).all()
    assert {(row, 1, RunOutcome.LAPSED) for row in rows} | {(row, 2, RunOutcome.RUNNING) for row in rows} == {
        tuple(run) for run in runs
    }
    assert {tuple(each) for each in alarms} == {(AlarmStatus.RUNNING, 2, 1)}


def test_an_alarm_given_back_is_due_at_once(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    take(database)
    attempt = claimed(database, row)
    with database.writing() as session:
        assert give_back(session, row, attempt, NOW)
    assert ids(take(database)) == [row]


def test_looking_for_due_alarms_does_not_read_the_settled_ones(database: Database) -> None:
    accepted(database, *(an_alarm() for _ in range(300)))
    with database.writing() as session:
        session.execute(update(Alarm).where(Alarm.id > 5).values(status=AlarmStatus.SETTLED))
    seen: list[str] = []
    with database.writing() as session:
        if not database.is_sqlite:
            session.execute(text("SET LOCAL enable_seqscan = off"))
        connection = session.connection()

        def explain(statement: str, parameters: object) -> None:
            prefix = "EXPLAIN QUERY PLAN" if database.is_sqlite else "EXPLAIN"
            plan = connection.exec_driver_sql(f"{prefix} {statement}", parameters)  # type: ignore[arg-type]
            seen.append("\n".join(str(row) for row in plan))

        statements: list[tuple[str, object]] = []

        def listen(_c: object, _cursor: object, statement: str, parameters: object, *_rest: object) -> None:
            if "FROM alarm" in statement:
                statements.append((statement, parameters))

        event.listen(connection, "before_cursor_execute", listen)
        take_due(session, 10, NOW, REDISPATCH)
        look_ahead(session, 10, NOW, REDISPATCH)
        outstanding(session, NOW, REDISPATCH)
        event.remove(connection, "before_cursor_execute", listen)
        assert len(statements) == 4
        for statement, parameters in statements:
            explain(statement, parameters)
    assert all("ix_alarm_open" in plan for plan in seen), seen


def test_a_look_ahead_finds_what_is_taken_then(database: Database) -> None:
    rows = accepted(database, *(an_alarm(severity=severity) for severity in (300, 700, 1, 700, 1000, 900)))
    claimed(database, rows[5], now=NOW - LEASE)  # has lapsed
    claimed(database, rows[4])
    with database.reading() as session:
        assert look_ahead(session, 0, NOW, REDISPATCH) == []
        found = look_ahead(session, 4, NOW, REDISPATCH)
    assert found == [rows[5], rows[1], rows[3], rows[0]]
    with database.writing() as session:
        assert ids(take_due(session, 4, NOW, REDISPATCH, found)) == found


def test_what_was_found_and_has_been_claimed_since_is_not_taken(database: Database) -> None:
    rows = accepted(database, *(an_alarm() for _ in range(4)))
    with database.reading() as session:
        found = look_ahead(session, 3, NOW, REDISPATCH)
    claimed(database, rows[1])
    [worse] = accepted(database, an_alarm(severity=1000))
    with database.writing() as session:
        assert ids(take_due(session, 3, NOW, REDISPATCH, found)) == [rows[0], rows[2]]
        assert ids(take_due(session, 3, NOW, REDISPATCH, [])) == []
    assert ids(take(database)) == [worse, rows[3]]


def test_the_worst_of_what_an_alarm_leads_decides(database: Database) -> None:
    rows = accepted(database, *(an_alarm(severity=severity) for severity in (300, 700, 100)))
    with database.writing() as session:
        session.execute(update(Alarm).where(Alarm.id == rows[2]).values(urgency=900))
    taken = take(database)
    assert [(due.id, due.severity) for due in taken] == [(rows[2], 900), (rows[1], 700), (rows[0], 300)]
    with database.writing() as session:
        held = claim(session, rows[2], "host-1", NOW, LEASE)
    assert held is not None
    assert held.severity == 900


@pytest.mark.parametrize("room", [1, 50])
def test_a_flood_does_not_starve_the_worst(database: Database, room: int) -> None:
    accepted(database, *(an_alarm(severity=100) for _ in range(200)))
    [worst] = accepted(database, an_alarm(severity=1000))
    assert ids(take(database, room=room))[0] == worst
