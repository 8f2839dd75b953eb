"""A process that stood still: what timed out in the meantime is not the endpoint's fault."""

import asyncio
import logging
import time

import pytest

from tests.helpers.contexts import a_context_without_sources
from tools.context import AlarmContext
from worker.agent.asking import FAILURES_UNTIL_REST, Asking, NoAnswerError
from worker.process.pauses import Pauses
from worker.settings import AgentSettings

MANY = 3 * FAILURES_UNTIL_REST


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.process.pauses.TICK_SECONDS", 0.02)
    monkeypatch.setattr("worker.process.pauses.LEAST_SECONDS", 1.0)


def stand_still(seconds: float) -> None:
    """Nothing on the loop runs, as when the process is stopped."""
    time.sleep(seconds)


def test_a_pause_is_measured_by_all_who_watch_and_not_by_who_came_later() -> None:
    async def watch() -> tuple[float, float, float]:
        pauses = Pauses()
        with pauses.watched() as outer:
            await asyncio.sleep(0.05)
            with pauses.watched() as inner:
                asyncio.get_running_loop().call_soon(stand_still, 2.0)
                await asyncio.sleep(0.1)
                both = outer(), inner()
            with pauses.watched() as later:
                await asyncio.sleep(0.1)
                return *both, later()

    outer, inner, later = asyncio.run(watch())
    assert 1.5 <= inner <= outer
    assert later == 0


def test_what_is_only_busy_does_not_stand_still() -> None:
    async def watch() -> float:
        with Pauses().watched() as paused:
            for _ in range(10):
                stand_still(0.05)
                await asyncio.sleep(0)
            return paused()

    assert asyncio.run(watch()) == 0


def test_nothing_beats_when_nobody_watches() -> None:
    async def watch() -> int:
        pauses = Pauses()
        with pauses.watched():
            await asyncio.sleep(0.1)
        with pauses.watched():
            pass
        return sum(not handle.cancelled() for handle in asyncio.get_running_loop()._scheduled)  # type: ignore[attr-defined]

    assert asyncio.run(watch()) == 0


async def _ask(
    asking: Asking, answered: asyncio.Event, deadline_seconds: float = 60, calls: int = 0
) -> AlarmContext:
    context = a_context_without_sources()
    context.run.model_deadline = asyncio.get_running_loop().time() + deadline_seconds
    context.run.model_calls = calls

    async def request() -> str:
        await answered.wait()
        return "answer"

    try:
        context.run.planner = await asking.answer(context, request)
    except NoAnswerError as error:
        context.run.handover_reason = error.reason
    return context


async def _no_wait(_seconds: float) -> None:
    return


def asked_over_a_pause(deadline_seconds: float = 60, calls: int = 0) -> list[AlarmContext]:
    """Many alarms whose requests are open while the process stands still, and one that comes after them."""

    async def run() -> list[AlarmContext]:
        limits = AgentSettings(_env_file=None, llm_timeout_seconds=1)
        asking, answered = Asking(limits, _no_wait), asyncio.Event()
        together = [
            asyncio.ensure_future(_ask(asking, answered, deadline_seconds, calls)) for _ in range(MANY)
        ]
        await asyncio.sleep(0.2)
        stand_still(2.0)
        asyncio.get_running_loop().call_later(0.2, answered.set)
        contexts = await asyncio.gather(*together)
        return [*contexts, await _ask(asking, answered)]

    return asyncio.run(run())


def test_requests_that_time_out_in_a_pause_are_made_again_and_the_endpoint_is_not_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "worker.agent.asking"):
        contexts = asked_over_a_pause()
    assert {context.run.planner for context in contexts} == {"answer"}
    assert {context.run.model_calls for context in contexts[:-1]} == {2}
    assert "left alone" not in caplog.text
    assert "TimeoutError, this process stood still for 2 s" in caplog.text


def test_where_no_request_is_left_the_runbook_finishes_and_the_endpoint_is_not_left_alone() -> None:
    *paused, later = asked_over_a_pause(calls=7)
    assert {context.run.handover_reason for context in paused} == {"model_failed: PausedError"}
    assert later.run.planner == "answer"


def test_a_pause_is_not_part_of_the_models_time() -> None:
    contexts = asked_over_a_pause(deadline_seconds=1.5)
    assert {context.run.planner for context in contexts} == {"answer"}


def test_an_endpoint_that_answers_with_an_error_is_to_blame_all_the_same() -> None:
    class EndpointError(Exception):
        status_code = 500

    async def run() -> AlarmContext:
        limits = AgentSettings(_env_file=None, llm_timeout_seconds=30)
        asking = Asking(limits, _no_wait)
        for _ in range(FAILURES_UNTIL_REST):
            context = a_context_without_sources()
            context.run.model_deadline = asyncio.get_running_loop().time() + 60

            async def request() -> str:
                asyncio.get_running_loop().call_soon(stand_still, 1.3)
                await asyncio.sleep(0.05)
                raise EndpointError

            with pytest.raises(NoAnswerError):
                await asking.answer(context, request)
        answered = asyncio.Event()
        answered.set()
        return await _ask(asking, answered)

    assert asyncio.run(run()).run.handover_reason == "endpoint_resting"
