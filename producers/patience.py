"""Trying the broker again, later each time, for as long as that may help."""

import time
from collections.abc import Callable
from typing import TypeVar, cast

from redis.backoff import EqualJitterBackoff
from redis.retry import Retry

from producers.queue import PublishError

T = TypeVar("T")

_BASE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 4.0


def patiently(attempt: Callable[[], T], wait_seconds: float, failed: Callable[[PublishError], None]) -> T:
    """What `attempt` returns, tried again until nothing was confirmed for `wait_seconds`; 0: tried once.

    Raises the last PublishError, at once if it cannot pass; `failed` is called before each further attempt.
    """
    backoff = _BackOff(wait_seconds)
    retry = Retry(backoff, -1, supported_errors=(PublishError,))
    heard = cast(Callable[[Exception], None], failed)  # it gets supported errors only
    return retry.call_with_retry(attempt, heard, is_retryable=backoff.goes_on)


class _BackOff(EqualJitterBackoff):
    """redis-py's, which ends at a deadline that moves on with each event confirmed."""

    def __init__(self, wait_seconds: float) -> None:
        super().__init__(cap=_LONGEST_PAUSE_SECONDS, base=_BASE_SECONDS)
        self._wait_seconds = wait_seconds
        self._deadline = time.monotonic() + wait_seconds

    def goes_on(self, error: Exception) -> bool:
        assert isinstance(error, PublishError)
        if error.confirmed:
            self._deadline = time.monotonic() + self._wait_seconds
        return error.may_pass and time.monotonic() < self._deadline

    def compute(self, failures: int) -> float:
        left_seconds = self._deadline - time.monotonic()
        return max(0.0, min(super().compute(failures), left_seconds))
