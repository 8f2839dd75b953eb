"""The lease beside a run: lost, it ends the run; settled, it does not."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

import worker.line.handler
from db.queries.alarms import lease, runs
from db.settings import PlantSettings
from tests.helpers.contexts import a_claimed_alarm
from tests.helpers.support import NOW
from tools.context import AlarmContext
from tools.sources import Sources
from worker.line.handler import Handler
from worker.settings import AgentSettings, WorkerSettings


class NoDatabase:
    """In the sources' place: the queries themselves are replaced, and need no session."""

    async def write(self, change: Callable[[Any], Any]) -> Any:
        await asyncio.sleep(0)
        return change(None)

    async def ask(self, question: Callable[[Any], Any], source: str) -> list[Any]:
        return []


@pytest.fixture
def renewed(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when a renewal has been refused."""
    refused = asyncio.Event()

    def renew(*_given: object) -> bool:
        refused.set()
        return False

    monkeypatch.setattr(worker.line.handler, "now", lambda _session: NOW)
    monkeypatch.setattr(lease, "claim", lambda *_given: a_claimed_alarm())
    monkeypatch.setattr(lease, "renew", renew)
    monkeypatch.setattr(runs, "store_trace", lambda *_given, **_cost: None)
    return refused


def handled(monkeypatch: pytest.MonkeyPatch, run: Callable[[AlarmContext], Any]) -> str:
    async def run_agent(_agent: object, context: AlarmContext, *_more: object) -> None:
        await run(context)

    monkeypatch.setattr(worker.line.handler, "run_agent", run_agent)
    handler = Handler(
        cast(Any, None),
        cast(Sources, NoDatabase()),
        PlantSettings(_env_file=None),
        AgentSettings(_env_file=None, agent_deadline_seconds=10),
        WorkerSettings(_env_file=None, lease_seconds=1),
    )
    return asyncio.run(handler.handle(1))


def test_a_run_whose_lease_is_lost_is_ended(renewed: asyncio.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(_context: AlarmContext) -> None:
        await asyncio.sleep(60)

    assert handled(monkeypatch, hang).startswith("fenced out")
    assert renewed.is_set()


def test_a_renewal_that_finds_the_alarm_settled_does_not_end_the_run_that_settled_it(
    renewed: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settlement is committed in a thread; a renewal may see it before the run hears of it."""

    async def settle(context: AlarmContext) -> None:
        async with context.ledger.order_lock:
            await renewed.wait()
            for _ in range(10):
                await asyncio.sleep(0)
            context.ledger.order_id = "WO-20260804-0001"

    assert handled(monkeypatch, settle) == "settled: WO-20260804-0001"
