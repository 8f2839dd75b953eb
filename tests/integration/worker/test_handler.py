"""One attempt at an alarm, when its run ends, fails, hangs, loses its lease or is stopped."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from sqlalchemy import select, text, update

from db.models import AgentRun, Alarm
from db.queries.alarms import lease
from db.session import Database
from db.settings import PlantSettings
from tests.helpers.endpoint import Conversation, Endpoint, Message, good
from tests.helpers.line import Line, close_models, statuses
from tests.helpers.support import accepted, an_alarm, eventually, only_postgresql
from tools.context import AlarmContext
from tools.sources import Sources
from worker.agent.graph import Agent
from worker.line import handler
from worker.line.handler import Handler
from worker.settings import AgentSettings, WorkerSettings

Run = Callable[[Handler, AlarmContext], Awaitable[None]]


def attempt(database: Database, run: Run, alarm_id: int | None = None, deadline_seconds: float = 20) -> str:
    """What becomes of an alarm, a new one unless it is given, whose run is this, with a lease of a second."""
    if alarm_id is None:
        (alarm_id,) = accepted(database, an_alarm(), now=datetime.now(UTC))

    async def handled() -> str:
        class Runs:
            async def ainvoke(self, _state: object, _config: object, context: AlarmContext) -> None:
                await run(own, context)

        limits = AgentSettings(_env_file=None, agent_deadline_seconds=deadline_seconds)
        settings = WorkerSettings(_env_file=None, lease_seconds=1)
        plant = PlantSettings(_env_file=None)
        own = Handler(cast(Agent, Runs()), Sources(database), plant, limits, settings)
        async with asyncio.timeout(30):
            return await own.handle(alarm_id)

    return asyncio.run(handled())


async def for_ever(_handler: Handler, _context: AlarmContext) -> None:
    await asyncio.Event().wait()


def the_alarm(database: Database) -> Alarm:
    with database.reading() as session:
        return session.scalars(select(Alarm)).one()


def outcomes(database: Database) -> list[tuple[str, str | None]]:
    with database.reading() as session:
        runs = session.execute(select(AgentRun.outcome, AgentRun.error).order_by(AgentRun.attempt))
        return [(outcome.value, error) for outcome, error in runs]


def claimed_by_another(database: Database, alarm_id: int, now: datetime) -> bool:
    with database.writing() as session:
        return lease.claim(session, alarm_id, "another", now, timedelta(hours=1)) is not None


def test_a_run_longer_than_its_lease_keeps_it(database: Database) -> None:
    taken: list[bool] = []

    async def outlives_its_first_lease(_handler: Handler, context: AlarmContext) -> None:
        first = the_alarm(database).lease_until
        assert first is not None
        await asyncio.to_thread(eventually, lambda: datetime.now(UTC) > first, 10)
        taken.append(claimed_by_another(database, context.alarm.id, datetime.now(UTC)))
        context.ledger.order_id = "an order"

    assert attempt(database, outlives_its_first_lease) == "settled: an order"
    assert taken == [False]


def test_a_run_that_lost_its_lease_is_ended_and_touches_nothing(database: Database) -> None:
    async def is_taken_over(_handler: Handler, context: AlarmContext) -> None:
        assert claimed_by_another(database, context.alarm.id, datetime.now(UTC) + timedelta(seconds=10))
        await asyncio.Event().wait()

    assert attempt(database, is_taken_over).startswith("fenced out")
    alarm = the_alarm(database)
    assert (alarm.status, alarm.lease_owner, alarm.attempt) == ("running", "another", 2)
    assert outcomes(database) == [("lapsed", None), ("running", None)]


@pytest.mark.parametrize(
    ("failures", "seconds", "status"), [(0, 2, "waiting"), (1, 10, "waiting"), (2, 2, "poison")]
)
def test_a_run_that_fails_is_counted_and_waits_longer_each_time_until_it_is_poison(
    database: Database, failures: int, seconds: int, status: str
) -> None:
    async def fails(_handler: Handler, _context: AlarmContext) -> None:
        raise RuntimeError("a secret")

    (alarm_id,) = accepted(database, an_alarm(), now=datetime.now(UTC))
    with database.writing() as session:
        session.execute(update(Alarm).values(failures=failures))
    before = datetime.now(UTC)
    assert attempt(database, fails, alarm_id) == f"failed: RuntimeError, again in {seconds} s"
    alarm = the_alarm(database)
    assert (alarm.status, alarm.failures, alarm.lease_owner) == (status, failures + 1, None)
    waits = (alarm.next_attempt_at - before).total_seconds()
    assert seconds <= waits < seconds + 20
    assert outcomes(database) == [("failed", "RuntimeError")]


def test_a_run_that_fails_after_it_lost_its_alarm_says_so_and_promises_nothing(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails_too_late(_handler: Handler, context: AlarmContext) -> None:
        assert claimed_by_another(database, context.alarm.id, datetime.now(UTC) + timedelta(seconds=10))
        raise RuntimeError("of no interest any more")

    assert attempt(database, fails_too_late) == "fenced out: attempt 1 no longer holds the lease"
    assert "failed" not in caplog.text
    alarm = the_alarm(database)
    assert (alarm.status, alarm.lease_owner, alarm.failures) == ("running", "another", 1)
    assert outcomes(database) == [("lapsed", None), ("running", None)]


def test_a_run_that_hangs_is_ended_at_its_deadline(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "RUNBOOK_SECONDS", 0.2)
    assert attempt(database, for_ever, deadline_seconds=1) == "failed: TimeoutError, again in 2 s"
    assert the_alarm(database).status == "waiting"


def test_a_run_that_a_stop_cancels_is_given_back_uncounted(database: Database) -> None:
    async def is_stopped(own: Handler, _context: AlarmContext) -> None:
        assert own.running == 1
        own.stop_claiming()
        own.cancel_runs()
        await asyncio.Event().wait()

    assert attempt(database, is_stopped).startswith("given back")
    alarm = the_alarm(database)
    assert (alarm.status, alarm.failures, alarm.lease_owner) == ("waiting", 0, None)
    assert outcomes(database) == [("given_back", None)]


def test_a_task_that_comes_after_the_stop_is_not_begun(database: Database) -> None:
    async def stops_before_the_next(own: Handler, context: AlarmContext) -> None:
        own.stop_claiming()
        (other,) = accepted(database, an_alarm(event_id="the next"), now=datetime.now(UTC))
        with database.writing() as session:
            session.execute(update(Alarm).where(Alarm.id == other).values(status="dispatched"))
        assert await own.handle(other) == "not begun: this worker is stopping"
        context.ledger.order_id = "an order"

    attempt(database, stops_before_the_next)
    with database.reading() as session:
        row = session.scalars(select(Alarm).where(Alarm.event_id == "the next")).one()
    assert (row.status, row.attempt) == ("waiting", 0)


def test_a_second_task_for_an_alarm_does_nothing(database: Database) -> None:
    async def is_asked_for_again(own: Handler, context: AlarmContext) -> None:
        assert (await own.handle(context.alarm.id)).startswith("skipped")
        context.ledger.order_id = "an order"

    assert attempt(database, is_asked_for_again) == "settled: an order"
    assert len(outcomes(database)) == 1


@only_postgresql
def test_when_the_models_time_is_over_the_runbook_can_wait_for_sources_that_do_not_answer(
    plant: Database,
) -> None:
    over = threading.Event()

    def answers_too_late(conversation: Conversation) -> Message:
        over.wait(60)
        return good(conversation)

    with Endpoint({"late": answers_too_late}) as endpoint, plant.engine.connect() as other:
        other.execute(text("LOCK TABLE manual_entry, roster_entry, spare_part IN ACCESS EXCLUSIVE MODE"))
        order = Line(plant, "late", endpoint.url, agent_deadline_seconds=1).order(an_alarm())
        over.set()
        other.rollback()
    close_models()
    assert set(statuses(order).values()) == {"unavailable", "success"}
    assert order["planner"] == "runbook"


@only_postgresql
def test_the_lease_is_kept_while_the_equipment_list_does_not_answer(plant: Database) -> None:
    async def settles(_handler: Handler, context: AlarmContext) -> None:
        assert context.leader is None
        context.ledger.order_id = "an order"

    with plant.engine.connect() as other:
        other.execute(text("LOCK TABLE equipment IN ACCESS EXCLUSIVE MODE"))
        (alarm_id,) = accepted(plant, an_alarm(), now=datetime.now(UTC))
        assert attempt(plant, settles, alarm_id) == "settled: an order"
        alarm = the_alarm(plant)
        other.rollback()
    assert alarm.lease_until is not None
    assert alarm.lease_until > datetime.now(UTC), "three tries took longer than the lease of a second"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_lease_begins_when_it_is_written_however_long_that_had_to_wait(
    database: Database, database_url: str
) -> None:
    left: list[float] = []

    async def looks_at_its_lease(_handler: Handler, context: AlarmContext) -> None:
        until = the_alarm(database).lease_until
        assert until is not None
        left.append((until - datetime.now(UTC)).total_seconds())
        context.ledger.order_id = "an order"

    (alarm_id,) = accepted(database, an_alarm(), now=datetime.now(UTC))
    other = Database(database_url)
    with ThreadPoolExecutor(1) as thread:
        with other.writing():
            attempted = thread.submit(attempt, database, looks_at_its_lease, alarm_id)
            with pytest.raises(TimeoutError):
                attempted.result(1.5)
        other.close()
        assert attempted.result(20) == "settled: an order"
    assert left[0] > 0, "the lease of a second was over before it began"
