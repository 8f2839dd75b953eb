"""Keeping programs running: started again, with back-off, when they end unasked, until a signal says stop."""

import contextlib
import logging
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any, Self

from worker.process.owned import end_owned

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 5.0
STEADY_SECONDS = 60.0
LOOK_SECONDS = 0.1


class StopSignals:
    """SIGINT and SIGTERM, noted instead of raised: they break no clean-up off. The first one counts."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait(self, seconds: float) -> bool:
        """Waits for a signal, in short sleeps; whether there has been one."""
        deadline = time.monotonic() + seconds
        while self.received is None and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_SECONDS))
        return self.is_set()

    def is_set(self) -> bool:
        return self.received is not None

    @property
    def exit_code(self) -> int:
        return 0 if self.received is None else 128 + self.received

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.received is None:
            self.received = signal.Signals(number)


class Child:
    """A program that is kept running: each `keep()` starts it when it is not and its pause is over.

    `start` starts it, owned by this process, and returns at once.
    """

    def __init__(self, name: str, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self.name = name
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._start_at = 0.0
        self._pause = FIRST_PAUSE_SECONDS
        self._asked = False

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def keep(self) -> None:
        now = time.monotonic()
        if self._process is not None and self._process.poll() is not None:
            if now - self._started_at >= STEADY_SECONDS:
                self._pause = FIRST_PAUSE_SECONDS
            ended = ended_by(self._process.returncode)
            logger.error("%s ended unasked (%s); it starts again in %g s", self.name, ended, self._pause)
            self._process = None
            self._start_at = now + self._pause
            self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)
        if self._process is None and now >= self._start_at:
            self._process = self._start()
            self._started_at = now

    def ask_to_end(self) -> None:
        """Sends its one SIGTERM and does not wait."""
        if self._process is not None and not self._asked:
            self._asked = True
            self._process.terminate()

    def end(self, grace_seconds: float) -> int:
        """Ends it, by force after the grace time; its exit code, 0 when it was not running."""
        if self._process is None:
            return 0
        return exit_code(end_owned(self._process, grace_seconds, asked=self._asked))


def ended_by(returncode: int) -> str:
    if returncode >= 0:
        return f"exit code {returncode}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-returncode).name
    return f"signal {-returncode}"


def exit_code(returncode: int) -> int:
    """As a shell gives it: 128 and more for a signal."""
    return returncode if returncode >= 0 else 128 - returncode


def keep_running(children: Sequence[Child], stop: StopSignals) -> None:
    """Until a signal to stop comes."""
    while not stop.is_set():
        for child in children:
            child.keep()
        stop.wait(0.2)
