"""Servers that a test owns: started in a session of their own, and ended with the tests' process."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

# Run as the new process: it gives up root where it must, asks the kernel to be signalled when its parent is
# gone (even by kill -9, which no fixture survives), and becomes the server.
_LAUNCH = """
import ctypes, os, sys
parent, user, group, farewell, *command = sys.argv[1:]
if int(user):
    os.setgroups([])
    os.setgid(int(group))
    os.setuid(int(user))
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, int(farewell))
    if os.getppid() != int(parent):
        sys.exit("the tests that wanted this server are gone")
os.execv(command[0], command)
"""


def launch(
    command: list[str], log: Path, farewell: signal.Signals, user: int = 0, group: int = 0
) -> subprocess.Popen[bytes]:
    """Start a server in a session of its own, so that Ctrl-C reaches the tests first."""
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCH]
    facts = [str(os.getpid()), str(user), str(group), str(int(farewell))]
    with log.open("ab") as output:
        return subprocess.Popen(
            [*launcher, *facts, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=log.parent,
            start_new_session=True,
        )


def end(process: subprocess.Popen[bytes], farewell: signal.Signals) -> None:
    if process.poll() is None:
        process.send_signal(farewell)
        process.send_signal(signal.SIGCONT)  # a test may have frozen it
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


class Server:
    """Started by `with`, and stopped at its end or when it does not start."""

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.stop()
