"""A Celery worker of ours as a process of its own, with a handler that claims, notes, and waits."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from producers.queue import connect, publish
from producers.simulator import simulate
from tests.helpers.processes import ROOT, environment
from tests.helpers.servers import ValkeyServer
from tests.helpers.support import eventually, faults

pytestmark = [pytest.mark.timeout(180), pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)]

# In the place of worker.wiring, which would bring LangChain and a real handler along.
WORKER = """
import os, sys, time, types
from datetime import UTC, datetime, timedelta
from db.queries.alarms import lease
from db.session import Database
from db.settings import DatabaseSettings, PlantSettings
from producers.settings import BrokerSettings
from worker.settings import WorkerSettings

class Line:
    broker, worker, plant = BrokerSettings(), WorkerSettings(), PlantSettings()
    database = Database(DatabaseSettings().database_url)

    def handle(self, alarm_id):
        with self.database.writing() as session:
            if lease.claim(session, alarm_id, "a test", datetime.now(UTC), timedelta(hours=1)) is None:
                return "skipped"
        with open("notes", "a") as notes:
            notes.write(f"{alarm_id}\\n")
        time.sleep(float(os.environ["HANDLER_SECONDS"]))
        return "noted"

    def running(self):
        return 0

    def stop(self, grace_seconds):
        with open("stopped", "w") as stopped:
            stopped.write(str(grace_seconds))

the_line = Line()
sys.modules["worker.wiring"] = types.SimpleNamespace(line=lambda: the_line)
from worker.app import app
sys.exit(app.start(["worker", "--loglevel=INFO", "--without-gossip", "--without-mingle", *sys.argv[1:]]))
"""


@contextmanager
def worker(
    folder: Path, broker_url: str, database_url: str, *options: str, **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    env = environment(BROKER_URL=broker_url, DATABASE_URL=database_url, PYTHONPATH=str(ROOT), **variables)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, *options],
            env=env,
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def said(folder: Path) -> str:
    return (folder / "log").read_text()


def noted(folder: Path) -> list[int]:
    notes = folder / "notes"
    return [int(line) for line in notes.read_text().split()] if notes.exists() else []


def push(broker_url: str, count: int) -> int:
    """Alarms of the simulator; how many of them lead to an order."""
    events = list(simulate(count, 56, datetime.now(UTC)))
    with connect(broker_url) as client:
        publish(client, events)
    return faults(events)


def test_a_worker_ends_in_time_although_its_tasks_hang(
    tmp_path: Path, broker_url: str, database_url: str
) -> None:
    limits = {"STOP_GRACE_SECONDS": "1", "WORKER_CONCURRENCY": "4", "HANDLER_SECONDS": "600"}
    with worker(tmp_path, broker_url, database_url, **limits) as process:
        push(broker_url, 12)
        eventually(lambda: len(noted(tmp_path)) == 4, 60)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert process.wait(30) == 1
        assert time.monotonic() - began < 1 + 5
    assert (tmp_path / "stopped").read_text() == "1.0"
    assert "still not stopped" in said(tmp_path)
    assert len(noted(tmp_path)) == 4, "tasks were begun after the signal"


def test_a_worker_without_work_ends_at_once_and_well(
    tmp_path: Path, broker_url: str, database_url: str
) -> None:
    with worker(tmp_path, broker_url, database_url, HANDLER_SECONDS="0") as process:
        eventually(lambda: "ready." in said(tmp_path), 60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0


@pytest.mark.parametrize("moment", ["tasks run", "tasks are reserved"])
def test_a_worker_outlives_the_broker_and_every_alarm_is_handled(
    tmp_path: Path, database_url: str, moment: str
) -> None:
    threads = "8" if moment == "tasks run" else "4"
    with (
        ValkeyServer() as server,
        worker(
            tmp_path, f"{server.url}/0", database_url, HANDLER_SECONDS="3", WORKER_CONCURRENCY=threads
        ) as process,
    ):
        wanted = push(f"{server.url}/0", 6)
        eventually(lambda: len(noted(tmp_path)) >= 4, 60)
        server.kill()
        eventually(lambda: "Cannot connect to redis" in said(tmp_path), 30)
        server.start()
        eventually(lambda: len(noted(tmp_path)) >= wanted, 90)
        assert len(set(noted(tmp_path))) == len(noted(tmp_path)) == wanted
        assert process.poll() is None, said(tmp_path)[-3000:]
        os.kill(process.pid, signal.SIGTERM)
        process.wait(60)


def test_a_pool_of_another_kind_is_refused(tmp_path: Path, broker_url: str, database_url: str) -> None:
    with worker(tmp_path, broker_url, database_url, "--pool=solo", HANDLER_SECONDS="0") as process:
        assert process.wait(60) == 1
    assert "this worker runs on threads" in said(tmp_path)


def test_a_database_that_is_not_at_head_is_refused(
    tmp_path: Path, broker_url: str, database_url: str
) -> None:
    empty = f"sqlite:///{tmp_path / 'empty.db'}"
    with worker(tmp_path, broker_url, empty, HANDLER_SECONDS="0") as process:
        assert process.wait(60) == 1
    assert "alarm-db upgrade" in said(tmp_path).splitlines()[-1]
