"""A worker that is stopped and continued, with many requests to the model open, goes on as if nothing was."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from db.session import Database
from producers.events import AlarmEvent
from producers.queue import connect, publish
from tests.helpers.endpoint import Endpoint, good
from tests.helpers.processes import celery_worker, environment, started
from tests.helpers.sample_events import raw
from tests.helpers.support import eventually

ALARMS, TIMEOUT_SECONDS = 12, 6


@pytest.mark.timeout(180)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_endpoint_is_not_blamed_for_a_pause_of_the_worker(
    tmp_path: Path, broker_url: str, database_url: str, plant: Database
) -> None:
    asked, continued = threading.Semaphore(0), threading.Event()

    def answers_after_the_pause(conversation: Any) -> dict[str, Any]:
        asked.release()
        continued.wait(60)
        return good(conversation)

    with connect(broker_url) as client:
        events = (raw(event_id=f"evt-{n}", equipment=f"设备{n}") for n in range(ALARMS))
        publish(client, [AlarmEvent.parse(event) for event in events])
    log = tmp_path / "worker.log"
    with Endpoint({"slow": answers_after_the_pause}) as endpoint:
        env = environment(
            BROKER_URL=broker_url,
            DATABASE_URL=database_url,
            WORKER_CONCURRENCY=str(ALARMS),
            LLM_MODEL="slow",
            OPENAI_BASE_URL=endpoint.url,
            LLM_TIMEOUT_SECONDS=str(TIMEOUT_SECONDS),
            AGENT_DEADLINE_SECONDS="9",
            LEASE_SECONDS="60",
        )
        with started("alarm-worker", "run", env=env, cwd=tmp_path, log=log) as process:
            for _ in range(ALARMS):
                assert asked.acquire(timeout=60), log.read_text()[-3000:]
            pid = celery_worker(process)
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            time.sleep(2 * TIMEOUT_SECONDS)  # this is the fault, not a wait for anything
            os.kill(pid, signal.SIGCONT)
            continued.set()

            def all_planned() -> list[tuple[str, str | None]]:
                with plant.reading() as session:
                    rows = session.execute(text("SELECT planner, handover_reason FROM work_order")).all()
                return [(row.planner, row.handover_reason) for row in rows] if len(rows) == ALARMS else []

            planned = eventually(all_planned, 60, 0.2)
    assert planned == [("slow", None)] * ALARMS, log.read_text()[-5000:]
    assert "left alone" not in log.read_text()
