"""`alarm-worker demo` as a user runs it: what it shows, and that nothing of it stays behind."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from sqlalchemy import select

from db.migrate import upgrade
from db.models import Alarm, WorkOrder
from db.session import Database
from tests.helpers.processes import BIN, environment
from tests.helpers.support import eventually

pytestmark = pytest.mark.timeout(180)


def left_running(folder: Path) -> list[str]:
    """Processes that work in this folder or were started with it in their settings."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            here = process.cwd().startswith(str(folder)) or any(
                str(folder) in process.environ().get(name, "") for name in ("DATABASE_URL", "PWD")
            )
            if here and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
    return found


@contextmanager
def demo(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [str(BIN / "alarm-worker"), "demo"],
        env=environment(
            COLUMNS="150", BROKER_URL="redis://nowhere:1/0", DATABASE_URL="sqlite:////nowhere/at/all"
        ),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def end_of(process: subprocess.Popen[str], seconds: float = 90) -> str:
    output, _ = process.communicate(timeout=seconds)
    return output


def worker_is_ready(folder: Path) -> bool:
    log = folder / "var/demo/worker.log"
    return log.exists() and "ready." in log.read_text()


def test_it_shows_the_alarms_as_orders_and_what_is_missing_and_leaves_nothing_running(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        output = end_of(process)
    assert process.returncode == 0, output
    assert "12/12" in output
    assert "E401" in output
    assert "交互屏组装A线" in output
    assert "query_shift" in output, "the line without a roster has no follow-up"
    file = tmp_path / "var/demo/andon.db"
    assert f"\n  DATABASE_URL=sqlite:///{file} " in output
    assert left_running(tmp_path) == []
    database = Database(f"sqlite:///{file}")
    try:
        with database.reading() as session:
            orders = session.scalars(select(WorkOrder)).all()
            statuses = session.scalars(select(Alarm.status)).all()
    finally:
        database.close()
    assert len({order.order_id for order in orders}) == len(orders) == 11
    assert "12 alarms became 11 work orders" in output
    assert sorted(statuses) == ["attached"] + ["settled"] * 11 + ["stored"] * 2
    assert {order.planner for order in orders} == {"runbook"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_midway_ends_it_and_all_that_it_started(tmp_path: Path, number: signal.Signals) -> None:
    with demo(tmp_path) as process:
        eventually((tmp_path / "var/demo/worker.log").exists, 60)
        assert left_running(tmp_path)
        process.send_signal(number)
        output = end_of(process)
    assert process.returncode == 128 + number, output
    assert "nothing is left running" in output
    assert left_running(tmp_path) == []


def test_a_second_demo_in_the_same_folder_is_refused_and_the_first_one_undisturbed(tmp_path: Path) -> None:
    with demo(tmp_path) as first:
        eventually((tmp_path / "var/demo/andon.db").exists, 60)
        with demo(tmp_path) as second:
            output = end_of(second)
        assert second.returncode == 1
        assert f"in use by process {first.pid}" in output
        assert "12/12" in end_of(first)
    assert first.returncode == 0


def test_a_database_that_somebody_else_has_open_is_not_taken_from_under_him(tmp_path: Path) -> None:
    file = tmp_path / "var/demo/andon.db"
    file.parent.mkdir(parents=True)
    database = Database(f"sqlite:///{file}")
    upgrade(database)
    with database.reading() as session:
        session.scalars(select(Alarm)).all()
    with demo(tmp_path) as process:
        output = end_of(process)
    assert process.returncode == 1
    assert "is open in another process" in " ".join(output.split())
    assert file.exists()
    database.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_kill_9_leaves_nothing_running_and_the_next_demo_begins_afresh(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        eventually(lambda: worker_is_ready(tmp_path), 60)
        process.kill()
        eventually(lambda: left_running(tmp_path) == [], 30)
    with demo(tmp_path) as process:
        output = end_of(process)
    assert process.returncode == 0, output
    assert "12/12" in output
