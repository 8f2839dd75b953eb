"""Flower beside a real worker: what its API says of an alarm that was handled, and to whom."""

import base64
import json
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from db.session import Database
from producers.queue import connect, publish
from producers.simulator import simulate
from tests.helpers.processes import environment, started
from tests.helpers.servers import free_port
from tests.helpers.support import eventually
from worker.tasks import HANDLE_ALARM

pytestmark = pytest.mark.timeout(180)

USER = "planner:a-secret"


def api(port: int, path: str, user: str | None = USER) -> Any:
    """The parsed answer, or the status of a refusal, or None while nobody answers."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}")
    if user is not None:
        request.add_header("Authorization", f"Basic {base64.b64encode(user.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_handled_alarm_is_read_back_from_flowers_api_with_line_code_and_event(
    tmp_path: Path, broker_url: str, database_url: str, database: Database
) -> None:
    port, log = free_port(), tmp_path / "flower.log"
    flower = ["celery", "-A", "worker.app", "flower", "--address=127.0.0.1", f"--port={port}"]
    env = environment(BROKER_URL=broker_url, DATABASE_URL=database_url)
    with (
        started(*flower, env=env | {"FLOWER_BASIC_AUTH": USER}, cwd=tmp_path, log=log),
        started("alarm-worker", "run", env=env, cwd=tmp_path, log=tmp_path / "worker.log"),
    ):
        # Its history holds only what it heard itself, so it must know the worker before the alarm is sent.
        eventually(lambda: api(port, "api/workers?refresh=1"), 60, 0.5)
        assert api(port, "api/tasks", user=None) == 401
        assert api(port, "api/tasks", user="planner:wrong") == 401
        (event,) = simulate(1, 1, datetime.now(UTC))
        with connect(broker_url) as client:
            publish(client, [event])

        def handled() -> list[dict[str, Any]]:
            tasks: dict[str, dict[str, Any]] = api(port, "api/tasks")
            return [task for task in tasks.values() if task["state"] == "SUCCESS"]

        (task,) = eventually(handled, 60, 0.2)
    assert task["name"] == HANDLE_ALARM
    for fact in (event.line_name, event.fault_code, event.event_id):
        assert fact in task["kwargs"], f"{fact} cannot be read in {task['kwargs']}"
    with database.reading() as session:
        number = session.execute(text("SELECT order_id FROM work_order")).scalar_one()
    assert number in task["result"]
