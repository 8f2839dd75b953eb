"""A log for what may come in floods: a few lines a while, and then how many were left out."""

import logging
import time

SECONDS = 10.0
LINES = 10


class Seldom:
    """Logs at most `lines` lines of one level in each `seconds`; for one thread."""

    def __init__(
        self, logger: logging.Logger, level: int, lines: int = LINES, seconds: float = SECONDS
    ) -> None:
        self._logger = logger
        self._level = level
        self._lines = lines
        self._seconds = seconds
        self._began = 0.0
        self._said = 0
        self._left_out = 0

    def say(self, message: str, *arguments: object) -> None:
        now = time.monotonic()
        if now - self._began >= self._seconds:
            if self._left_out:
                self._logger.log(self._level, "%d more lines like the last one were left out", self._left_out)
            self._began, self._said, self._left_out = now, 0, 0
        if self._said == self._lines:
            self._left_out += 1
            return
        self._said += 1
        self._logger.log(self._level, message, *arguments)
