"""Notices when the event loop stood still: the process was stopped, the machine slept, or was overwhelmed."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TICK_SECONDS = 0.25
LEAST_SECONDS = 2.0
"""A busy loop is late as well, by less."""


class Pauses:
    """A heartbeat on the loop, for as long as anything is watched; a beat that is late tells of a pause.

    The beats come due before whatever times out in the same pause, so they are heard of first.
    """

    def __init__(self) -> None:
        self._watchers = 0
        self._seconds = 0.0
        self._beat_at = 0.0
        self._next: asyncio.TimerHandle | None = None

    @contextmanager
    def watched(self) -> Iterator[Callable[[], float]]:
        """Gives a function that says for how many seconds the loop has stood still inside this block."""
        loop = asyncio.get_running_loop()
        if not self._watchers:
            self._beat_at = loop.time()
            self._next = loop.call_later(TICK_SECONDS, self._beat, loop)
        self._watchers += 1
        before = self._seconds
        try:
            yield lambda: self._seconds - before
        finally:
            self._watchers -= 1
            if not self._watchers and self._next is not None:
                self._next.cancel()

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        late = now - self._beat_at - TICK_SECONDS
        if late >= LEAST_SECONDS:
            self._seconds += late
        self._beat_at = now
        self._next = loop.call_later(TICK_SECONDS, self._beat, loop)
