"""Trying again, later each time, with one line in the log when trouble begins and one when it is over."""

import logging
from typing import Protocol

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 5.0


class Stoppable(Protocol):
    """What can be waited on and ends the wait when it is time to stop: a threading.Event."""

    def is_set(self) -> bool: ...
    def wait(self, timeout: float, /) -> bool: ...


class BackOff:
    """Paces the attempts of one loop at something that may be away for a while."""

    def __init__(self, logger: logging.Logger, longest_seconds: float = LONGEST_SECONDS) -> None:
        self._logger = logger
        self._longest_seconds = longest_seconds
        self._seconds = 0.0

    def failed(self, what: str, error: BaseException, stop: Stoppable) -> None:
        """Waits before the next attempt; `what` is the thing that failed, as in 'the database'."""
        if not self._seconds:
            self._logger.warning("%s failed, trying again until it is back: %s", what, brief(error))
        self._seconds = min(self._seconds * 2 or FIRST_SECONDS, self._longest_seconds)
        stop.wait(self._seconds)

    def succeeded(self) -> None:
        if self._seconds:
            self._logger.info("going on: what had failed is back")
        self._seconds = 0.0


def brief(error: BaseException) -> str:
    """An error as one short line: SQLAlchemy's own text would add the statement and its values."""
    cause = getattr(error, "orig", None) or error
    said = str(cause).partition(", with args")[0]  # a broker that knows no AUTH quotes the password back
    lines = said.strip().splitlines()
    return f"{type(cause).__name__}: {lines[0][:200]}" if lines else type(cause).__name__
