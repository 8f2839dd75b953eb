"""A thread that is started again, after a while, when what it runs fails."""

import logging
import threading
import time
from collections.abc import Callable

from worker.process.backoff import brief

logger = logging.getLogger(__name__)

LONGEST_PAUSE_SECONDS = 5.0
STEADY_SECONDS = 60.0


class KeptThread:
    """Runs `work(stop)` until `stop` is set; when it fails or ends unasked, it is logged and begins anew."""

    def __init__(
        self, name: str, work: Callable[[threading.Event], None], first_pause_seconds: float = 1.0
    ) -> None:
        self._name = name
        self._work = work
        self._first_pause_seconds = first_pause_seconds
        self._thread: threading.Thread | None = None

    def start(self, stop: threading.Event) -> None:
        # A daemon: what cannot be stopped in time must not keep the process.
        self._thread = threading.Thread(target=self._run, args=(stop,), name=self._name, daemon=True)
        self._thread.start()

    def join(self, timeout_seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(timeout_seconds)

    def _run(self, stop: threading.Event) -> None:
        pause = self._first_pause_seconds
        while not stop.is_set():
            began = time.monotonic()
            try:
                self._work(stop)
                reason, trace = "it returned", None
            except BaseException as error:  # a thread that is gone is noticed by nobody else
                reason, trace = brief(error), error
            if stop.is_set():
                return
            if time.monotonic() - began >= STEADY_SECONDS:
                pause = self._first_pause_seconds
            message = "the %s ended (%s); it begins again in %.1f s"
            logger.error(message, self._name, reason, pause, exc_info=trace)
            stop.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
