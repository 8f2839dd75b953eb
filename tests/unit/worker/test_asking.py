"""Asking the model: which failures are tried again, and after what; when the endpoint is left alone."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.contexts import a_context_without_sources
from tools.context import AlarmContext
from worker.agent.asking import (
    FAILURES_UNTIL_REST,
    LONGEST_WAIT_SECONDS,
    Asking,
    NoAnswerError,
    retry_after_seconds,
)
from worker.settings import AgentSettings

LIMITS = AgentSettings(llm_timeout_seconds=5, agent_max_model_calls=8, agent_deadline_seconds=60)


class EndpointError(Exception):
    """As the client raises them: with a status, and the answer's headers."""

    def __init__(self, status: int | None = None, **headers: str) -> None:
        super().__init__("with sk-secret in its text")
        if status is not None:
            self.status_code = status
        self.response = SimpleNamespace(headers={k.replace("_", "-"): v for k, v in headers.items()})


class Waits(list[float]):
    """The seconds that were waited between tries, which pass at once."""

    async def sleep(self, seconds: float) -> None:
        self.append(seconds)

    def asking(self) -> Asking:
        return Asking(LIMITS, self.sleep)


@pytest.fixture
def waited() -> Waits:
    return Waits()


async def ask(asking: Asking, *outcomes: Any, seconds_left: float = 60.0, calls: int = 0) -> AlarmContext:
    """The outcomes, one a try; the last for ever. The context, with what was counted in it."""
    context = a_context_without_sources()
    context.run.model_deadline = asyncio.get_running_loop().time() + seconds_left
    context.run.model_calls = calls

    async def request() -> str:
        outcome = outcomes[min(context.run.model_calls - calls, len(outcomes)) - 1]
        if isinstance(outcome, BaseException):
            raise outcome
        return str(outcome)

    try:
        context.run.planner = await asking.answer(context, request)
    except NoAnswerError as error:
        context.run.handover_reason = error.reason
    return context


def asked(waited: Waits, *outcomes: Any, **more: Any) -> AlarmContext:
    return asyncio.run(ask(waited.asking(), *outcomes, **more))


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 418, 422, 307])
def test_what_the_endpoint_refuses_is_not_asked_again(waited: Waits, status: int) -> None:
    context = asked(waited, EndpointError(status))
    assert (context.run.model_calls, waited) == (1, [])
    assert context.run.handover_reason == "model_failed: EndpointError"


@pytest.mark.parametrize("status", [None, 200, 408, 409, 500, 502, 504, 529])
def test_what_may_pass_is_asked_once_more(waited: Waits, status: int | None) -> None:
    context = asked(waited, EndpointError(status))
    assert context.run.model_calls == 2
    assert len(waited) == 1
    assert asked(waited, EndpointError(status), "answer").run.planner == "answer"


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_endpoint_is_given_more_time_each_try(waited: Waits, status: int) -> None:
    context = asked(waited, EndpointError(status))
    assert context.run.model_calls == 4
    assert len(waited) == 3
    assert waited == sorted(waited)


def test_every_try_counts_and_none_is_made_beyond_the_budget(waited: Waits) -> None:
    context = asked(waited, EndpointError(429), calls=6)
    assert context.run.model_calls == LIMITS.agent_max_model_calls
    assert asked(waited, EndpointError(500), calls=7).run.model_calls == 8


def test_no_wait_reaches_beyond_the_deadline(waited: Waits) -> None:
    context = asked(waited, EndpointError(429, retry_after="20"), seconds_left=19)
    assert (context.run.model_calls, waited) == (1, [])
    assert (
        asked(waited, EndpointError(429, retry_after="20"), "answer", seconds_left=40).run.planner == "answer"
    )
    assert 20 <= waited[0] < 22


def test_an_endpoint_that_asks_for_too_much_patience_is_not_waited_for(waited: Waits) -> None:
    after = str(LONGEST_WAIT_SECONDS + 1)
    assert asked(waited, EndpointError(429, retry_after=after), seconds_left=3600).run.model_calls == 1
    assert asked(waited, EndpointError(503, retry_after="inf"), seconds_left=3600).run.model_calls == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry_after": "7"}, 7),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after": "-7"}, 0),
        ({"retry_after": "soon"}, 0),
        ({"retry_after": ""}, 0),
        ({"retry_after": "nan"}, 0),
        ({"retry_after": "Tue, 04 Aug 2026 02:30:00 GMT"}, 0),
        ({"retry_after_ms": "250", "retry_after": "9"}, 0.25),
        ({"retry_after_ms": "x", "retry_after": "9"}, 9),
    ],
)
def test_retry_after_is_read_as_it_is_written(headers: dict[str, str], seconds: float) -> None:
    assert retry_after_seconds(EndpointError(429, **headers)) == seconds


def test_retry_after_may_be_a_date() -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 95 < retry_after_seconds(EndpointError(429, retry_after=at)) <= 100
    assert retry_after_seconds(ValueError("no answer at all")) == 0
    assert retry_after_seconds(None) == 0


def test_a_hang_ends_with_the_time_that_is_left() -> None:
    async def hang() -> tuple[str | None, float]:
        clock = asyncio.get_running_loop().time
        context, begun = a_context_without_sources(), clock()
        context.run.model_deadline = begun + 0.2
        with pytest.raises(NoAnswerError) as raised:
            await Asking(LIMITS).answer(context, lambda: asyncio.sleep(30))
        return raised.value.reason, clock() - begun

    reason, seconds = asyncio.run(hang())
    assert reason == "model_failed: TimeoutError"
    assert seconds < 2


def test_a_cancellation_is_no_failure_of_the_endpoint_to_be_hidden() -> None:
    async def cancelled() -> None:
        context = a_context_without_sources()
        context.run.model_deadline = asyncio.get_running_loop().time() + 60
        work = asyncio.ensure_future(Asking(LIMITS).answer(context, lambda: asyncio.sleep(30)))
        await asyncio.sleep(0)
        work.cancel()
        await work

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_the_text_of_an_error_goes_nowhere(waited: Waits, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        context = asked(waited, EndpointError(401))
    assert "sk-secret" not in caplog.text + str(context.run)
    assert "EndpointError 401" in caplog.text


async def _fail(asking: Asking, times: int, error: EndpointError) -> None:
    for _ in range(times):
        await ask(asking, error)


def test_after_a_run_of_failures_the_endpoint_is_left_alone_and_it_is_logged(
    waited: Waits, caplog: pytest.LogCaptureFixture
) -> None:
    async def flood() -> list[AlarmContext]:
        asking = waited.asking()
        await _fail(asking, FAILURES_UNTIL_REST, EndpointError(500))
        return [await ask(asking, "answer") for _ in range(100)]

    with caplog.at_level(logging.INFO, "worker.agent.asking"):
        runs = [context.run for context in asyncio.run(flood())]
    assert {(run.model_calls, run.handover_reason) for run in runs} == {(0, "endpoint_resting")}
    assert caplog.text.count("left alone") == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_request_says_nothing_of_the_endpoint(waited: Waits, status: int) -> None:
    async def refused() -> AlarmContext:
        asking = waited.asking()
        await _fail(asking, 3 * FAILURES_UNTIL_REST, EndpointError(status))
        return await ask(asking, "answer")

    assert asyncio.run(refused()).run.planner == "answer"


def test_an_answer_between_failures_starts_the_count_anew(waited: Waits) -> None:
    async def mixed() -> AlarmContext:
        asking = waited.asking()
        for _ in range(5):
            await _fail(asking, FAILURES_UNTIL_REST - 1, EndpointError(500))
            await ask(asking, "answer")
        return await ask(asking, "answer")

    assert asyncio.run(mixed()).run.planner == "answer"


@pytest.mark.parametrize("back", [True, False])
def test_after_its_rest_one_alarm_tries_whether_the_endpoint_is_back(
    waited: Waits, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, back: bool
) -> None:
    monkeypatch.setattr("worker.agent.asking.REST_SECONDS", 0.05)

    async def run() -> tuple[list[AlarmContext], AlarmContext]:
        asking = waited.asking()
        await _fail(asking, FAILURES_UNTIL_REST, EndpointError(500))
        await asyncio.sleep(0.1)
        gate = asyncio.Event()
        together = [asyncio.ensure_future(_gated(asking, gate, back)) for _ in range(20)]
        await asyncio.sleep(0)
        gate.set()
        tried = await asyncio.gather(*together)
        return tried, await ask(asking, "answer")

    with caplog.at_level(logging.INFO, "worker.agent.asking"):
        tried, later = asyncio.run(run())
    assert sum(context.run.model_calls > 0 for context in tried) == 1
    assert sum(context.run.handover_reason == "endpoint_resting" for context in tried) == 19
    assert later.run.planner == ("answer" if back else "runbook")
    assert ("answers again" in caplog.text) is back


async def _gated(asking: Asking, gate: asyncio.Event, back: bool) -> AlarmContext:
    """An alarm whose request is answered, or not, once the gate is open."""
    context = a_context_without_sources()
    context.run.model_deadline = asyncio.get_running_loop().time() + 60

    async def request() -> str:
        await gate.wait()
        if not back:
            raise EndpointError(500)
        return "answer"

    try:
        await asking.answer(context, request)
    except NoAnswerError as error:
        context.run.handover_reason = error.reason
    return context


def test_many_alarms_ask_at_once() -> None:
    """The breaker is no queue: what it lets through runs side by side."""
    together = asyncio.Barrier(30)

    async def request() -> str:
        async with asyncio.timeout(5):
            await together.wait()
        return "answer"

    async def all_at_once() -> list[str]:
        asking = Asking(LIMITS)
        return await asyncio.gather(*(_one(asking, request) for _ in range(30)))

    assert asyncio.run(all_at_once()) == ["answer"] * 30


async def _one(asking: Asking, request: Callable[[], Awaitable[str]]) -> str:
    context = a_context_without_sources()
    context.run.model_deadline = asyncio.get_running_loop().time() + 60
    return await asking.answer(context, request)
