"""The way from a tool to the plant's data: bounded in time, tried again shortly, never hanging."""

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.orm import Session
from tenacity import AsyncRetrying, RetryError, retry_if_exception_type, stop_after_attempt, wait_exponential

from db.session import AWAY, Database

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
Rows = TypeVar("Rows")

STATEMENT_SECONDS = 1.0
BACKSTOP_SECONDS = 2.0
"""For a source that does not even enforce its own limit; the thread then ends on its own."""
TRIES = 3
REST_SECONDS = 3.0
"""A source that was down a moment ago is not asked: of many alarms at once, each would wait for the tries of
all the others, for longer than it may."""
LOOK_EVERY_SECONDS = 0.5
"""But one alarm so often, to hear soon that it is back."""

_SAYS_OF_THE_SOURCE = (TimeoutError, *AWAY)
"""Any other error may be of the one question that raised it."""


class ToolError(Exception):
    """Root of the errors of this package."""


class SourceDownError(ToolError):
    """Raised when a source could not be asked, after the short retries."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"the source could not be asked: {cause}")
        self.cause = cause


class _Down:
    """A source that did not answer at `at`, a time of the event loop's clock in seconds."""

    def __init__(self, at: float) -> None:
        self._rests_until = at + REST_SECONDS
        self._look_at = at + LOOK_EVERY_SECONDS

    def tries(self, now: float) -> int:
        """How often it may be asked by who wants to ask now; 0: not at all."""
        if now >= self._rests_until:
            return TRIES
        if now < self._look_at:
            return 0
        self._look_at = now + BACKSTOP_SECONDS  # one alarm looks at a time, for as long as it takes
        self._rests_until = self._look_at + REST_SECONDS
        return 1


class Sources:
    """The plant's data behind one database; at most `width` look-ups at once in a process."""

    def __init__(self, database: Database, width: int = 8) -> None:
        self.database = database
        self._slots = asyncio.Semaphore(width)
        self._search = asyncio.Lock()
        self._down: dict[str, _Down] = {}

    async def ask(self, question: Callable[[Session], Answer], source: str | None = None) -> Answer:
        """Ask in a thread, when it is this question's turn. Raises SourceDownError, whatever the source did
        wrong; without asking where the named one was down a moment ago, but for one alarm at a time."""
        clock = asyncio.get_running_loop().time
        async with self._slots:
            down = self._down.get(source or "")
            tries = TRIES if down is None else down.tries(clock())
            if not tries:
                raise SourceDownError("it was down a moment ago")
            retrying = AsyncRetrying(
                stop=stop_after_attempt(tries),
                wait=wait_exponential(multiplier=0.05, max=0.2),
                retry=retry_if_exception_type(Exception),  # a cancellation is none, and passes
            )
            try:
                answer: Answer = await retrying(self._once, question)
            except RetryError as error:
                cause = error.last_attempt.exception()
                logger.warning("a look-up failed %d times: %s", tries, type(cause).__name__)
                if source is not None and isinstance(cause, _SAYS_OF_THE_SOURCE):
                    self._down[source] = _Down(clock())
                raise SourceDownError(type(cause).__name__) from cause
            self._down.pop(source or "", None)
            return answer

    async def _once(self, question: Callable[[Session], Answer]) -> Answer:
        async with asyncio.timeout(BACKSTOP_SECONDS):
            return await asyncio.to_thread(self._read, question)

    def _read(self, question: Callable[[Session], Answer]) -> Answer:
        with self.database.reading(timeout_seconds=STATEMENT_SECONDS) as session:
            return question(session)

    async def search(
        self, read: Callable[[Session], Rows], compare: Callable[[Rows], Answer], source: str | None = None
    ) -> Answer:
        """Read a whole table and go through it. Raises SourceDownError, whatever went wrong.

        One after the other: both keep the processor busy, and of many at once each would take as long as if
        the source were down. Only the reading is the source's time.
        """
        async with self._search:
            rows = await self.ask(read, source)
            try:
                return await asyncio.to_thread(compare, rows)
            except Exception as error:
                logger.warning("an answer could not be worked out: %s", type(error).__name__)
                raise SourceDownError(type(error).__name__) from error

    async def write(self, change: Callable[[Session], Answer]) -> Answer:
        """One writing transaction in a thread. Its errors are the caller's."""
        return await asyncio.to_thread(self._write, change)

    def _write(self, change: Callable[[Session], Answer]) -> Answer:
        with self.database.writing() as session:
            return change(session)
