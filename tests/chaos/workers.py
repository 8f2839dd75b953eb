"""One worker of the line as a process, started as a user starts it, and all that may happen to it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from tests.helpers.processes import BIN, celery_worker
from tests.helpers.support import eventually
from worker.process.owned import end_owned, start_owned

GRACE_SECONDS = 3
LEASE_SECONDS = 5
CONCURRENCY = 8
_WITHOUT_NAME = [str(BIN / "alarm-worker"), "run"]


def _with_name(name: str) -> list[str]:
    """Two workers on one machine want names of their own, which `alarm-worker run` does not give."""
    options = ["--loglevel=INFO", "--without-gossip", "--without-mingle", "-n", f"{name}@%h"]
    return [sys.executable, "-m", "celery", "-A", "worker.app", "worker", *options]


class Worker:
    """The first one is `alarm-worker run`, a further one Celery's own command with a name."""

    def __init__(self, folder: Path, environment: Mapping[str, str], name: str | None = None) -> None:
        self.log = folder / f"worker-{name or 'first'}.log"
        self._folder, self._environment = folder, environment
        self._command = _WITHOUT_NAME if name is None else _with_name(name)
        self._supervised = name is None
        self._process: subprocess.Popen[bytes] | None = None
        self._restarts = 0

    def start(self) -> None:
        """From the main thread only: the kernel ends the worker when the thread that started it is gone."""
        assert not self.runs
        self._restarts = 0
        with self.log.open("ab") as output:
            self._process = start_owned(
                self._command, environment=self._environment, folder=self._folder, output=output
            )

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """Of the process that handles alarms; None while there is none."""
        if self._process is None or not self.runs:
            return None
        try:
            return celery_worker(self._process) if self._supervised else self._process.pid
        except psutil.Error:  # it has just ended
            return None

    def await_pid(self) -> int:
        return eventually(lambda: self.pid or 0, 60)

    def rss_bytes(self) -> int:
        return int(psutil.Process(self.await_pid()).memory_info().rss)

    def kill(self) -> None:
        """`kill -9`, alternately of the worker alone, whom its supervisor starts again, and of both, whom
        somebody else does: a supervisor waits longer before each further start."""
        pid = self.await_pid()
        os.kill(pid, signal.SIGKILL)
        if self._supervised and self._restarts == 0:
            self._restarts += 1
            return
        self.end_at_once()
        self.start()

    def end_at_once(self) -> None:
        assert self._process is not None
        pid = self.pid
        self._process.kill()
        if pid is not None and pid != self._process.pid:
            os.kill(pid, signal.SIGKILL)
        self._process.wait(10)

    def pause(self) -> None:
        os.kill(self.await_pid(), signal.SIGSTOP)

    def go_on(self) -> None:
        if self.pid is not None:
            os.kill(self.pid, signal.SIGCONT)

    def terminate(self, limit_seconds: float) -> float:
        """One SIGTERM; how long its end took."""
        assert self._process is not None
        began = time.monotonic()
        self._process.terminate()
        self._process.wait(limit_seconds)
        return time.monotonic() - began

    def stop(self) -> None:
        if self._process is not None:
            self.go_on()
            end_owned(self._process, GRACE_SECONDS + 15)

    def is_ready(self) -> bool:
        """Whether it has said so, since it was made."""
        return "ready." in self.said(1_000_000)

    def said(self, characters: int = 3000) -> str:
        return self.log.read_text(errors="replace")[-characters:] if self.log.exists() else ""
