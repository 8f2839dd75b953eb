"""Real processes of the project, started as a user starts them and ended with the test."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without settings of ours, and with those given."""
    own = (
        *("LLM_", "OPENAI_", "AGENT_", "PLANT_", "PRIORITY_", "FLOWER_"),
        *("BROKER_URL", "DATABASE_URL", "LEASE_", "STOP_", "WORKER_"),
    )
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return inherited | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"} | variables


def run(*command: str, env: Mapping[str, str], cwd: Path | None = None) -> str:
    """A command of the project, to its end; its standard output. Fails with what it said when it failed."""
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def started(*command: str, env: Mapping[str, str], cwd: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command that runs on; ended by SIGTERM, and by SIGKILL with its children if that does not help."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [str(BIN / command[0]), *command[1:]], env=env, cwd=cwd, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield process
    finally:
        family = [process.pid, *(child.pid for child in descendants(process.pid))]
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            for pid in family:
                if psutil.pid_exists(pid):
                    os.kill(pid, signal.SIGKILL)
            process.wait(5)


def descendants(pid: int) -> list[psutil.Process]:
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def celery_worker(supervisor: subprocess.Popen[bytes]) -> int | None:
    """The process id of the Celery worker that the supervisor runs at the moment."""
    return next(
        (child.pid for child in descendants(supervisor.pid) if "--loglevel=INFO" in child.cmdline()), None
    )


def is_running(pid: int) -> bool:
    """Whether it is there and has not ended, waited for by its parent or not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
