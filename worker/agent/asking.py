"""One answer of the model: in its time, asked for again where that may help, not while the endpoint rests."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from pybreaker import STATE_HALF_OPEN, CircuitBreaker, CircuitBreakerError, CircuitBreakerListener
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential_jitter

from tools.context import AlarmContext, RunState
from worker.process.pauses import Pauses
from worker.settings import AgentSettings

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

TRIES, MORE_TRIES = 2, 4
"""More where the endpoint is only busy, or had nothing to do with it."""
LONGEST_WAIT_SECONDS = 30.0
"""An endpoint that asks for more patience is not waited for."""
FAILURES_UNTIL_REST, REST_SECONDS = 5, 30.0
"""So many alarms in a row without an answer, and the endpoint is left alone for so long."""

_BUSY = (429, 503)
_ABOUT_THE_REQUEST = (400, 413, 422)
"""Says nothing of the endpoint: too long, or with tools that this model does not know."""
_MAY_PASS = (408, 409, 425, 429)
_back_off = wait_exponential_jitter(multiplier=0.5, max=8, jitter=0.5)


class NoAnswerError(Exception):
    """Raised when the model gave no answer and is not asked again for this alarm; `reason` is storable."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class PausedError(Exception):
    """Raised when a request came to nothing while this process stood still; the endpoint is not to blame."""


class Asking:
    """One for all alarms of a process: it knows how the endpoint has been of late."""

    def __init__(
        self, settings: AgentSettings, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._settings = settings
        self._sleep = sleep
        self._pauses = Pauses()
        self._breaker = CircuitBreaker(
            fail_max=FAILURES_UNTIL_REST,
            reset_timeout=REST_SECONDS,
            exclude=[_not_of_the_endpoint],
            listeners=[_Logged()],
            throw_new_error_on_trip=False,
        )

    async def answer(self, context: AlarmContext, request: Callable[[], Awaitable[Answer]]) -> Answer:
        """What `request` gives, each try of it counted. Raises NoAnswerError, whatever went wrong."""
        # While the endpoint rests, one alarm at a time tries whether it is back.
        if self._breaker.current_state == STATE_HALF_OPEN:
            raise NoAnswerError("endpoint_resting")
        retrying = AsyncRetrying(
            retry=retry_if_exception(_may_help),
            wait=_wait,
            stop=self._stop(context.run),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            with self._breaker.calling():
                answer: Answer = await retrying(self._once, context, request)
        except CircuitBreakerError:
            raise NoAnswerError("endpoint_resting") from None
        except Exception as error:  # whatever an endpoint answers can raise anything inside the client
            # From none: the error's text may hold the key.
            raise NoAnswerError(f"model_failed: {type(error).__name__}") from None
        return answer

    async def _once(self, context: AlarmContext, request: Callable[[], Awaitable[Answer]]) -> Answer:
        run = context.run
        run.model_calls += 1
        left = run.model_deadline - asyncio.get_running_loop().time()
        with self._pauses.watched() as paused_seconds:
            try:
                async with asyncio.timeout(min(self._settings.llm_timeout_seconds, left)):
                    return await request()
            except Exception as error:
                status, paused = _status(error), paused_seconds()
                name = type(error).__name__ + (f" {status}" if status else "")
                name += f", this process stood still for {paused:.0f} s" if paused else ""
                logger.warning("alarm %d: model call %d failed: %s", context.alarm.id, run.model_calls, name)
                run.trace.failure(run.model_calls, name)
                if paused and not status:
                    raise PausedError from None
                raise
            finally:
                run.model_deadline += paused_seconds()

    def _stop(self, run: RunState) -> Callable[[RetryCallState], bool]:
        """Whether there is no further try: none left, no call left, or no time to wait for it."""
        clock = asyncio.get_running_loop().time

        def stop(state: RetryCallState) -> bool:
            error = _error(state)
            more = isinstance(error, PausedError) or _status(error) in _BUSY
            tries = MORE_TRIES if more else TRIES
            return (
                state.attempt_number >= tries
                or run.model_calls >= self._settings.agent_max_model_calls
                or state.upcoming_sleep > LONGEST_WAIT_SECONDS
                or clock() + state.upcoming_sleep >= run.model_deadline
            )

        return stop


class _Logged(CircuitBreakerListener):
    def state_change(self, cb: CircuitBreaker, old_state: Any, new_state: Any) -> None:
        if old_state.name == new_state.name:
            return  # what was under way as it opened has failed too
        said = {
            "open": f"failed {cb.fail_counter} alarms in a row; it is left alone for {cb.reset_timeout:g} s",
            "half-open": "has rested; one alarm tries whether it is back",
            "closed": "answers again",
        }
        level = logging.WARNING if new_state.name == "open" else logging.INFO
        logger.log(level, "the model's endpoint %s", said[new_state.name])


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None


def _status(error: BaseException | None) -> int | None:
    """The HTTP status that an error stands for, if any."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _not_of_the_endpoint(error: BaseException) -> bool:
    return isinstance(error, PausedError) or _status(error) in _ABOUT_THE_REQUEST


def _may_help(error: BaseException) -> bool:
    """Whether asking again may: not when the endpoint refuses the key, the model or the request."""
    status = _status(error)
    passing = status is None or status < 300 or status >= 500 or status in _MAY_PASS
    return isinstance(error, Exception) and passing


def _wait(state: RetryCallState) -> float:
    """Longer each time; longer still where the endpoint says so."""
    return _back_off(state) + retry_after_seconds(_error(state))


def retry_after_seconds(error: BaseException | None) -> float:
    """How long the endpoint asks to be left alone, by its `Retry-After`; 0 when it does not say."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name, ""))
        if seconds is not None:
            return max(seconds * unit, 0.0)
    return 0.0


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return None if math.isnan(seconds) else seconds
