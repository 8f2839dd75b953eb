"""Programs that are kept running, told once to stop, and never left behind."""

import itertools
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer

from tests.helpers.processes import is_running
from tests.helpers.support import eventually
from worker.commands import run as supervisor
from worker.process.celery_command import celery_command
from worker.process.keeping import Child, StopSignals, ended_by, exit_code, keep_running
from worker.process.owned import end_owned, start_owned

# Keeps one child running and ends as it ended; the child notes each SIGTERM and needs a moment to end.
SUPERVISOR = """
import sys
from worker.process.keeping import Child, StopSignals, keep_running
from worker.process.owned import start_owned
child = Child("the child", lambda: start_owned([sys.executable, "-c", sys.argv[1], sys.argv[2]]))
with StopSignals() as stop:
    keep_running([child], stop)
    code = child.end(20)
print(stop.received.name, flush=True)
sys.exit(code)
"""
CHILD = """
import os, signal, sys, time
notes = open(sys.argv[1], "a", buffering=1)
signal.signal(signal.SIGTERM, lambda *_: notes.write("TERM\\n"))
notes.write(f"{os.getpid()}\\n")
begun = time.monotonic()
while "TERM" not in open(sys.argv[1]).read() and time.monotonic() - begun < 60:
    time.sleep(0.02)
time.sleep(0.5)
sys.exit(7)
"""


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Callable[[], list[str]]]]:
    """A supervisor, and a look at what its child has noted: its number, then each SIGTERM."""
    notes = tmp_path / "notes"
    notes.touch()
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, CHILD, str(notes)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

    def noted() -> list[str]:
        return notes.read_text().split()

    try:
        eventually(noted, 20)
        yield process, noted
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_child_once_and_its_exit_code_comes_back(
    supervised: tuple[subprocess.Popen[str], Callable[[], list[str]]], number: signal.Signals
) -> None:
    process, noted = supervised
    for _ in range(3):
        os.killpg(process.pid, number)
        time.sleep(0.05)
    output, _ = process.communicate(timeout=20)
    assert output.split() == [number.name]
    assert process.returncode == 7
    assert noted()[1:] == ["TERM"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_a_killed_supervisor_leaves_no_child_behind(
    supervised: tuple[subprocess.Popen[str], Callable[[], list[str]]],
) -> None:
    process, noted = supervised
    child = int(noted()[0])
    process.kill()
    eventually(lambda: not is_running(child), 10)
    assert noted()[1:] == ["TERM"]


def test_what_ends_unasked_is_started_again_after_growing_pauses(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("worker.process.keeping.FIRST_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr("worker.process.keeping.LONGEST_PAUSE_SECONDS", 0.3)
    starts: list[float] = []

    def start() -> subprocess.Popen[bytes]:
        starts.append(time.monotonic())
        return start_owned([sys.executable, "-I", "-S", "-c", "raise SystemExit(3)"])

    child = Child("the child", start)

    def started_five_times() -> bool:
        child.keep()
        return len(starts) == 5

    with caplog.at_level(logging.ERROR):
        eventually(started_five_times, 20)
    child.end(5)
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        f"the child ended unasked (exit code 3); it starts again in {pause:g} s"
        for pause in (0.1, 0.2, 0.3, 0.3)
    ]
    gaps = [after - before for before, after in itertools.pairwise(starts)]
    assert all(gap >= pause for gap, pause in zip(gaps, (0.1, 0.2, 0.3, 0.3), strict=True))


def test_after_a_steady_life_the_pause_is_short_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("worker.process.keeping.FIRST_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr("worker.process.keeping.STEADY_SECONDS", 0)
    starts: list[int] = []

    def start() -> subprocess.Popen[bytes]:
        starts.append(1)
        return start_owned([sys.executable, "-I", "-S", "-c", ""])

    child = Child("the child", start)

    def started_four_times() -> bool:
        child.keep()
        return len(starts) == 4

    eventually(started_four_times, 20)
    child.end(5)
    assert all("again in 0.05 s" in record.getMessage() for record in caplog.records)
    assert len(caplog.records) == 3


def test_a_child_that_does_not_heed_its_signal_is_killed() -> None:
    script = "from signal import *; signal(SIGTERM, SIG_IGN); print(flush=True); pause()"
    child = start_owned([sys.executable, "-c", script], output=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    assert end_owned(child, 0.2) == -signal.SIGKILL
    child.stdout.close()


def test_a_signal_ends_the_waiting_at_once_and_the_old_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopSignals() as stop:
        assert not stop.wait(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        began = time.monotonic()
        assert stop.wait(30)
        assert time.monotonic() - began < 5
        assert stop.exit_code == 143
        keep_running([], stop)
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(("returncode", "said", "code"), [(1, "exit code 1", 1), (-9, "SIGKILL", 137)])
def test_an_end_is_said_in_words_and_as_a_shell_counts_it(returncode: int, said: str, code: int) -> None:
    assert ended_by(returncode) == said
    assert exit_code(returncode) == code


def test_celery_finds_this_application_from_a_folder_with_another_package_of_that_name(
    tmp_path: Path,
) -> None:
    (tmp_path / "worker").mkdir()
    (tmp_path / "worker" / "__init__.py").write_text("raise SystemExit('the wrong package')")
    command = celery_command("report")
    report = subprocess.check_output(command, cwd=tmp_path, text=True, timeout=60)
    assert "task_default_queue: 'andon'" in report


def test_a_database_that_is_not_at_head_is_refused_with_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "andon.db").touch()
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'andon.db'}")
    with pytest.raises(typer.Exit) as ended:
        supervisor.run()
    assert ended.value.exit_code == 1
    assert "alarm-db upgrade" in capsys.readouterr().err


def test_a_database_that_is_not_there_is_refused_and_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "nowhere" / "andon.db"
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{file}")
    with pytest.raises(typer.Exit) as ended:
        supervisor.run()
    assert ended.value.exit_code == 1
    assert f"there is no database {file}; `alarm-db upgrade` makes it" in capsys.readouterr().err
    assert not file.parent.exists()


def test_a_database_that_is_away_is_waited_for_until_a_signal_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    waited: list[str] = []

    def fail_twice_then_signal(_back_off: object, what: str, _error: object, stop: StopSignals) -> None:
        waited.append(what)
        if len(waited) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            stop.wait(5)

    monkeypatch.setattr("worker.process.backoff.BackOff.failed", fail_twice_then_signal)
    assert supervisor.run() == 0
    assert waited == ["the database", "the database"]
