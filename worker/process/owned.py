"""Child processes that we own: each in a session of its own, ended with us, and never left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

Output = int | IO[bytes] | None

# Run by a small Python that then becomes the program. It asks the kernel to send a signal when the parent
# dies, and looks whether it has died already. `preexec_fn` would run in a forked copy of a threaded process.
_LAUNCH = """
import ctypes, os, signal, sys
parent, death_signal, *command = sys.argv[1:]
ctypes.CDLL(None).prctl(1, int(death_signal), 0, 0, 0)  # PR_SET_PDEATHSIG
if os.getppid() != int(parent):
    sys.exit(1)
for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by Python, and that outlasts exec
    signal.signal(ignored, signal.SIG_DFL)
os.execvp(command[0], command)
"""


def start_owned(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    output: Output = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Starts a program that gets SIGTERM when this process dies, however it dies (Linux).

    The terminal's Ctrl-C does not reach it: its owner tells it. The kernel watches the thread that starts it,
    so call this from the main thread only, which lives as long as the process.
    """
    command = list(command)
    if sys.platform == "linux":
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCH]
        command = [*launcher, str(os.getpid()), str(int(signal.SIGTERM)), *command]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        env=None if environment is None else dict(environment),
        cwd=folder,
        start_new_session=True,
        pass_fds=pass_fds,
    )


def end_owned(process: subprocess.Popen[bytes], grace_seconds: float, asked: bool = False) -> int:
    """Sends one SIGTERM unless it was `asked` before, waits, and kills its session then; its exit code."""
    if process.poll() is None:
        if not asked:
            process.terminate()
        try:
            process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait()
