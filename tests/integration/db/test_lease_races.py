"""However many want an alarm at the same moment, it has one holder and one order."""

from datetime import timedelta

from sqlalchemy import select

from db.errors import LeaseLost
from db.models import AgentRun, Alarm, WorkOrder
from db.models.alarm import AlarmStatus, RunOutcome
from db.queries.alarms.dispatch import take_due
from db.queries.alarms.lease import ClaimedAlarm, claim, fail, renew
from db.queries.alarms.settle import settle
from db.session import Database
from tests.helpers.support import LEASE, NOW, ZONE, accepted, an_alarm, an_order, at_once, claimed

TICK = timedelta(microseconds=1)


def test_sixteen_claims_at_once_have_one_winner(database: Database) -> None:
    rows = accepted(database, *(an_alarm() for _ in range(10)))
    for row in rows:

        def take(number: int, row: int = row) -> ClaimedAlarm | None:
            with database.writing() as session:
                return claim(session, row, f"worker-{number}", NOW, LEASE)

        won = [number for number, held in enumerate(at_once(take, range(16))) if held]
        assert len(won) == 1
        with database.reading() as session:
            alarm = session.get_one(Alarm, row)
            assert (alarm.status, alarm.attempt) == (AlarmStatus.RUNNING, 1)
            assert alarm.lease_owner == f"worker-{won[0]}"
            runs = select(AgentRun.owner, AgentRun.outcome).where(AgentRun.alarm_id == row)
            assert session.execute(runs).all() == [(alarm.lease_owner, RunOutcome.RUNNING)]


def test_settling_renewing_and_taking_over_at_once_leave_one_order(database: Database) -> None:
    """At the last moment of a lease its holder settles, renews and fails while others try to take over."""
    rows = accepted(database, *(an_alarm() for _ in range(12)))
    attempts = {row: claimed(database, row) for row in rows}
    last, lapsed = NOW + LEASE - TICK, NOW + LEASE

    def push(number: int) -> list[str]:
        ended = []
        for row in rows:
            with database.writing() as session:
                match number % 5:
                    case 0:
                        try:
                            ended.append(settle(session, row, attempts[row], an_order(), last, ZONE))
                        except LeaseLost:
                            session.rollback()
                    case 1:
                        renew(session, row, attempts[row], last, LEASE)
                    case 2:
                        claim(session, row, f"worker-{number}", lapsed, LEASE)
                    case 3:
                        take_due(session, 2, lapsed, LEASE)
                    case 4:
                        fail(session, row, attempts[row], last, "TimeoutError")
        return ended

    at_once(push, range(15))
    after = lapsed + 4 * LEASE
    for row in rows:
        with database.writing() as session:
            held = claim(session, row, "the last one", after, LEASE)
            if held is not None:
                settle(session, row, held.attempt, an_order(), after, ZONE)
    with database.reading() as session:
        orders = session.scalars(select(WorkOrder.event_id)).all()
        open_runs = session.scalars(select(AgentRun).where(AgentRun.outcome == RunOutcome.RUNNING)).all()
        settled = session.scalars(
            select(AgentRun.alarm_id).where(AgentRun.outcome == RunOutcome.SETTLED)
        ).all()
    assert len(orders) == len(set(orders)) == len(rows)
    assert sorted(settled) == sorted(rows)
    assert open_runs == []
