"""The whole line with its real parts: queue, worker process, database, and a model behind HTTP."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from sqlalchemy import text

from db.queries.orders import reading as orders
from db.session import Database
from producers.queue import connect, publish
from producers.simulator import simulate
from tests.helpers.endpoint import Endpoint, good
from tests.helpers.line import statuses
from tests.helpers.processes import celery_worker, environment, run, started
from tests.helpers.support import eventually, faults

pytestmark = pytest.mark.timeout(180)

NO_ROSTER = ["success", "not_found", "success", "success"]


@contextmanager
def worker(
    tmp_path: Path, broker_url: str, database_url: str, **variables: str
) -> Iterator[tuple[Popen[bytes], Path]]:
    log = tmp_path / "worker.log"
    env = environment(BROKER_URL=broker_url, DATABASE_URL=database_url, WORKER_CONCURRENCY="8", **variables)
    with started("alarm-worker", "run", env=env, cwd=tmp_path, log=log) as process:
        yield process, log


def count(database: Database, query: str) -> int:
    with database.reading() as session:
        return int(session.execute(text(query)).scalar_one())


def wait_for_orders(database: Database, number: int, log: Path, seconds: float = 90) -> None:
    try:
        eventually(lambda: count(database, "SELECT count(*) FROM work_order") >= number, seconds, 0.1)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{log.read_text()[-5000:]}") from None


def sent(broker_url: str, number: int, seed: int = 7) -> list[Any]:
    events = list(simulate(number, seed, datetime.now(UTC)))
    with connect(broker_url) as client:
        publish(client, events)
    return events


def test_e401_through_queue_worker_and_database_is_one_order(
    tmp_path: Path, broker_url: str, database_url: str, plant: Database
) -> None:
    (event,) = sent(broker_url, 1)
    with worker(tmp_path, broker_url, database_url) as (_process, log):
        wait_for_orders(plant, 1, log)
        env = environment(BROKER_URL=broker_url, DATABASE_URL=database_url)
        probed = json.loads(run("alarm-worker", "probe", "--json", env=env, cwd=tmp_path))
        books = json.loads(run("alarm-worker", "status", "--json", env=env, cwd=tmp_path))
    assert list(probed["legs_ms"]) == ["stream_to_intake", "intake_to_dispatch", "dispatch_to_claim"]
    assert (books["opened"], books["orders"], books["balanced"]) == (1, 1, True)
    with plant.reading() as session:
        order = orders.show(session, event.event_id, event.source)
    assert [step["status"] for step in order["steps"]] == NO_ROSTER
    assert [(item["kind"], item["step"], item["subject"]) for item in order["follow_ups"]] == [
        ("missing", "query_shift", "交互屏组装A线")
    ]
    assert [step["calls"] for step in order["steps"]] == [1, 1, 1, 1]
    assert [step["suppressed_calls"] for step in order["steps"]] == [0, 0, 0, 0]


def test_a_calendar_walking_model_behind_http_gives_the_same_order(
    tmp_path: Path, broker_url: str, database_url: str, plant: Database
) -> None:
    (event,) = sent(broker_url, 1)
    with Endpoint() as endpoint:
        model = {"LLM_MODEL": "calendar", "OPENAI_BASE_URL": endpoint.url}
        with worker(tmp_path, broker_url, database_url, **model) as (_process, log):
            wait_for_orders(plant, 1, log)
        assert endpoint.requests["calendar"] <= 8
    with plant.reading() as session:
        order = orders.show(session, event.event_id, event.source)
    assert [step["status"] for step in order["steps"]] == NO_ROSTER
    assert order["steps"][1]["calls"] == 1
    assert (order["planner"], order["handover_reason"]) == ("runbook", "no_new_facts")


def test_two_hundred_alarms_twenty_of_them_twice_are_each_one_row_and_each_fault_one_order(
    tmp_path: Path, broker_url: str, database_url: str, plant: Database
) -> None:
    events = sent(broker_url, 200)
    with connect(broker_url) as client:
        publish(client, events[::10])
    active, wanted = sum(event.state == "active" for event in events), faults(events)
    assert wanted < active
    with worker(tmp_path, broker_url, database_url) as (_process, log):
        wait_for_orders(plant, wanted, log)
        eventually(lambda: count(plant, "SELECT count(*) FROM alarm") >= 200, 10)
    assert count(plant, "SELECT count(*) FROM alarm") == 200
    assert count(plant, "SELECT count(*) FROM rejected_alarm") == 0
    assert count(plant, "SELECT count(*) FROM work_order") == wanted
    assert count(plant, "SELECT count(DISTINCT work_order_id) FROM alarm WHERE state = 'active'") == wanted
    assert count(plant, "SELECT count(*) FROM alarm WHERE status = 'attached'") == active - wanted
    cleared_with_order = "SELECT count(*) FROM alarm WHERE state = 'cleared' AND work_order_id IS NOT NULL"
    assert count(plant, cleared_with_order) == 0
    with plant.reading() as session:
        rows = session.execute(text("SELECT plant_date, sequence FROM work_order ORDER BY 1, 2")).all()
    by_date: dict[Any, list[int]] = {}
    for plant_date, sequence in rows:
        by_date.setdefault(plant_date, []).append(sequence)
    for numbers in by_date.values():
        assert numbers == list(range(1, len(numbers) + 1))


def test_an_alarm_whose_worker_is_killed_is_taken_up_again_after_its_lease(
    tmp_path: Path, broker_url: str, database_url: str, plant: Database
) -> None:
    in_the_middle, killed = threading.Event(), threading.Event()

    def first_hangs(conversation: Any) -> dict[str, Any]:
        if not killed.is_set():
            in_the_middle.set()
            killed.wait(30)
        return good(conversation)

    (event,) = sent(broker_url, 1)
    with Endpoint({"first_hangs": first_hangs}) as endpoint:
        settings = {"LLM_MODEL": "first_hangs", "OPENAI_BASE_URL": endpoint.url, "LEASE_SECONDS": "3"}
        with worker(tmp_path, broker_url, database_url, **settings) as (process, log):
            assert in_the_middle.wait(60), log.read_text()[-5000:]
            pid = celery_worker(process)
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            killed.set()
            wait_for_orders(plant, 1, log)
    with plant.reading() as session:
        order = orders.show(session, event.event_id, event.source)
        runs = session.execute(text("SELECT attempt, outcome FROM agent_run ORDER BY attempt")).all()
    assert [tuple(run) for run in runs] == [(1, "lapsed"), (2, "settled")]
    assert (order["planner"], statuses(order)["query_shift"]) == ("first_hangs", "not_found")
    assert count(plant, "SELECT count(*) FROM work_order") == 1


def test_a_worker_told_to_stop_gives_its_alarms_back_uncounted(
    tmp_path: Path, broker_url: str, database_url: str, plant: Database
) -> None:
    in_the_middle, over = threading.Event(), threading.Event()

    def hangs(conversation: Any) -> dict[str, Any]:
        in_the_middle.set()
        over.wait(60)
        return good(conversation)

    sent(broker_url, 1)
    with Endpoint({"hangs": hangs}) as endpoint:
        settings = {"LLM_MODEL": "hangs", "OPENAI_BASE_URL": endpoint.url, "STOP_GRACE_SECONDS": "1"}
        with worker(tmp_path, broker_url, database_url, **settings) as (process, log):
            assert in_the_middle.wait(60), log.read_text()[-5000:]
            process.send_signal(signal.SIGTERM)
            assert process.wait(15) == 0, log.read_text()[-5000:]
        over.set()
    with plant.reading() as session:
        alarm = session.execute(text("SELECT status, failures, lease_owner FROM alarm")).one()
        run = session.execute(text("SELECT outcome FROM agent_run")).one()
    assert tuple(alarm) == ("waiting", 0, None)
    assert tuple(run) == ("given_back",)
