"""An alarm has one holder at a time, and who has lost it can change nothing any more."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from db.errors import LeaseLost
from db.models import AgentRun, Alarm, WorkOrder
from db.models.alarm import AlarmStatus, RunOutcome
from db.queries.alarms.dispatch import take_due
from db.queries.alarms.lease import ClaimedAlarm, claim, fail, give_back, renew, undispatch
from db.queries.alarms.settle import settle
from db.session import Database
from tests.helpers.support import LEASE, NOW, ZONE, accepted, an_alarm, an_order, broken_off, claimed

TICK = timedelta(microseconds=1)
SOON = NOW + timedelta(seconds=1)


def take(
    database: Database, alarm_id: int, now: datetime = NOW, owner: str = "host-1"
) -> ClaimedAlarm | None:
    with database.writing() as session:
        return claim(session, alarm_id, owner, now, LEASE)


def facts(database: Database, alarm_id: int) -> tuple[object, ...]:
    """All that an outdated attempt must not change."""
    with database.reading() as session:
        row = session.get_one(Alarm, alarm_id)
        runs = session.scalars(
            select(AgentRun).where(AgentRun.alarm_id == alarm_id).order_by(AgentRun.attempt)
        )
        return (
            (row.status, row.attempt, row.failures, row.lease_owner, row.lease_until, row.next_attempt_at),
            row.work_order_id,
            [(run.attempt, run.outcome, run.ended_at, run.error) for run in runs],
            session.scalars(select(WorkOrder.order_id)).all(),
        )


def test_a_claim_brings_the_alarms_facts_and_its_attempt(database: Database) -> None:
    sent = an_alarm(fault_code="e-401", attributes={"温度": 71})
    [row] = accepted(database, sent)
    held = take(database, row)
    assert held == ClaimedAlarm(
        id=row,
        attempt=1,
        failures=0,
        source=sent.source,
        event_id=sent.event_id,
        line_name=sent.line_name,
        equipment=sent.equipment,
        equipment_class=sent.equipment_class,
        fault_code="e-401",
        code_key="E401",
        severity=700,
        message=sent.message,
        occurred_at=NOW,
        attributes={"温度": 71},
    )
    state, _, runs, _ = facts(database, row)
    assert state == (AlarmStatus.RUNNING, 1, 0, "host-1", NOW + LEASE, NOW)
    assert runs == [(1, RunOutcome.RUNNING, None, None)]


def test_what_needs_no_attempt_cannot_be_claimed(database: Database) -> None:
    settled, stored, held = accepted(database, an_alarm(), an_alarm(state="cleared"), an_alarm())
    attempt = claimed(database, settled)
    with database.writing() as session:
        settle(session, settled, attempt, an_order(), NOW, ZONE)
    claimed(database, held)
    later = NOW + timedelta(days=1)
    assert take(database, settled, later) is None
    assert take(database, stored, later) is None
    assert take(database, held, NOW + LEASE - TICK) is None
    assert take(database, 999_999) is None


def test_a_late_second_task_does_not_shorten_the_wait_before_a_retry(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    with database.writing() as session:
        rest = fail(session, row, attempt, NOW, "TimeoutError")
    assert rest == timedelta(seconds=2)
    retry_at = NOW + rest
    assert take(database, row, retry_at - TICK) is None
    held = take(database, row, retry_at)
    assert held is not None
    assert (held.attempt, held.failures) == (2, 1)


def test_a_lapsed_lease_can_be_claimed_and_the_first_attempt_is_closed(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    claimed(database, row)
    lapsed = NOW + LEASE
    held = take(database, row, lapsed, "host-2")
    assert held is not None
    assert (held.attempt, held.failures) == (2, 1)
    state, _, runs, _ = facts(database, row)
    assert state == (AlarmStatus.RUNNING, 2, 1, "host-2", lapsed + LEASE, NOW)
    assert runs == [(1, RunOutcome.LAPSED, lapsed, None), (2, RunOutcome.RUNNING, None, None)]


def test_a_held_lease_is_renewed_and_a_lapsed_one_is_not(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    last = NOW + LEASE - TICK
    with database.writing() as session:
        assert renew(session, row, attempt, last, LEASE)
    assert take(database, row, NOW + LEASE) is None
    with database.writing() as session:
        assert not renew(session, row, attempt + 1, last, LEASE)
        assert not renew(session, row, attempt - 1, last, LEASE)
        assert not renew(session, row, attempt, last + LEASE, LEASE)
        assert not renew(session, 999_999, attempt, last, LEASE)
    assert take(database, row, last + LEASE) is not None


def test_a_lapsed_lease_cannot_settle_even_when_nobody_else_has_claimed(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    before = facts(database, row)
    with pytest.raises(LeaseLost) as lost, database.writing() as session:
        settle(session, row, attempt, an_order(), NOW + LEASE, ZONE)
    assert (lost.value.alarm_id, lost.value.attempt) == (row, attempt)
    assert facts(database, row) == before


@pytest.mark.parametrize("how", ["claimed again", "sent again", "settled by another"])
def test_an_outdated_attempt_changes_nothing(database: Database, how: str) -> None:
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    lapsed = NOW + LEASE
    if how == "sent again":
        with database.writing() as session:
            assert [due.id for due in take_due(session, 1, lapsed, LEASE)] == [row]
    else:
        second = claimed(database, row, now=lapsed)
        if how == "settled by another":
            with database.writing() as session:
                settle(session, row, second, an_order(), lapsed, ZONE)
    before = facts(database, row)
    # The outdated holder's clock may well stand still: it still believes in its lease.
    with pytest.raises(LeaseLost), database.writing() as session:
        settle(session, row, attempt, an_order(), SOON, ZONE)
    with database.writing() as session:
        assert not renew(session, row, attempt, SOON, LEASE)
        assert fail(session, row, attempt, SOON, "TimeoutError") is None
        assert not give_back(session, row, attempt, SOON)
    assert facts(database, row) == before


def test_an_alarm_given_back_is_free_at_once_and_no_failure_is_counted(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    with database.writing() as session:
        assert give_back(session, row, attempt, SOON)
    state, _, runs, _ = facts(database, row)
    assert state == (AlarmStatus.WAITING, 1, 0, None, None, SOON)
    assert runs == [(1, RunOutcome.GIVEN_BACK, SOON, None)]
    with database.writing() as session:
        assert not give_back(session, row, attempt, SOON)
    held = take(database, row, SOON)
    assert held is not None
    assert (held.attempt, held.failures) == (2, 0)


def test_a_failed_attempt_is_counted_and_its_error_kept(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    ended, moment = [], NOW
    for number in (1, 2, 3):
        attempt = claimed(database, row, now=moment)
        with database.writing() as session:
            rest = fail(session, row, attempt, moment, "OperationalError" * 100)
        assert rest is not None
        ended.append((number, RunOutcome.FAILED, moment, ("OperationalError" * 100)[:200]))
        moment += rest
    state, _, runs, _ = facts(database, row)
    assert state == (AlarmStatus.POISON, 3, 3, None, None, moment)
    assert runs == ended


def test_a_holder_whose_lease_lapsed_unnoticed_can_still_give_back(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    late = NOW + 2 * LEASE
    with database.writing() as session:
        assert give_back(session, row, attempt, late)
    assert facts(database, row)[0] == (AlarmStatus.WAITING, 1, 0, None, None, late)


def test_a_task_taken_back_leaves_the_alarm_waiting_but_not_a_running_one(database: Database) -> None:
    sent, running = accepted(database, an_alarm(), an_alarm())
    with database.writing() as session:
        take_due(session, 2, NOW, LEASE)
    claimed(database, running)
    with database.writing() as session:
        assert undispatch(session, sent, SOON)
        assert not undispatch(session, running, SOON)
        assert not undispatch(session, sent, SOON)
    assert facts(database, sent)[0] == (AlarmStatus.WAITING, 0, 0, None, None, SOON)
    assert facts(database, running)[0][0] is AlarmStatus.RUNNING  # type: ignore[index]


def test_a_claim_that_is_rolled_back_was_never_made(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    before = facts(database, row)
    with broken_off(database) as session:
        assert claim(session, row, "host-1", NOW, LEASE)
    assert facts(database, row) == before
