"""How much memory the workers hold, looked at now and then while faults are struck."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import psutil

EVERY_SECONDS = 2.0
WARM_SECONDS = 20.0
"""In the life of a process: until its pools, threads and caches are made."""


@dataclass
class Life:
    """Of one worker process."""

    born: float
    last: float
    warm_bytes: int = 0  # 0: it ended before it was warm
    last_bytes: int = 0
    most_bytes: int = 0


class Memory:
    def __init__(self, pids: Callable[[], Iterable[int | None]]) -> None:
        self.lives: dict[int, Life] = {}
        self._pids = pids
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join(10)

    def warm(self) -> list[Life]:
        return [life for life in self.lives.values() if life.warm_bytes]

    def _run(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            for pid in self._pids():
                if pid is not None:
                    self._look(pid)

    def _look(self, pid: int) -> None:
        try:
            rss = int(psutil.Process(pid).memory_info().rss)
        except psutil.Error:  # it has just ended
            return
        now = time.monotonic()
        life = self.lives.setdefault(pid, Life(now, now))
        if not life.warm_bytes and now - life.born >= WARM_SECONDS:
            life.warm_bytes = rss
        life.last = now
        life.last_bytes, life.most_bytes = rss, max(life.most_bytes, rss)
