"""Whoever writes to the broker is heard by a worker, and runs nothing in it: what is not JSON is not read."""

import base64
import json
import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from sqlalchemy import text

from db.session import Database
from producers.queue import connect, publish
from producers.simulator import simulate
from tests.helpers.processes import celery_worker, environment, started
from tests.helpers.support import eventually
from worker.tasks import HANDLE_ALARM, QUEUE

pytestmark = [pytest.mark.timeout(120), pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)]


class Trap:
    """Unpickled, it makes a file: what an attacker's would do is worse."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._file,)


def envelope(body: bytes, content_type: str, **delivery: Any) -> str:
    """A message as kombu writes it to Redis."""
    task = {
        "lang": "py",
        "task": HANDLE_ALARM,
        "id": str(uuid4()),
        "root_id": None,
        "group": None,
        "retries": 0,
    }
    info = {"exchange": "", "routing_key": QUEUE} | delivery
    properties = {
        "delivery_mode": 2,
        "delivery_tag": str(uuid4()),
        "delivery_info": info,
        "body_encoding": "base64",
        "priority": 0,
    }
    message = {
        "body": base64.b64encode(body).decode(),
        "content-encoding": "binary",
        "content-type": content_type,
    }
    return json.dumps(message | {"headers": task, "properties": properties})


def test_what_is_not_json_is_never_executed_and_the_worker_goes_on(
    tmp_path: Path, broker_url: str, database_url: str, plant: Database
) -> None:
    trap = tmp_path / "executed"
    yaml = f"!!python/object/apply:os.system ['touch {trap}']".encode()
    embedded = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    pickled = pickle.dumps(((), {"alarm_id": Trap(trap)}, embedded))
    bodies = {
        "application/x-python-serialize": pickled,
        "application/x-yaml": yaml,
        "application/json": pickled,
        "application/data": pickled,
        "text/plain": pickled,
    }
    order = "SELECT count(*) FROM work_order"

    def orders() -> int:
        with plant.reading() as session:
            return int(session.execute(text(order)).scalar_one())

    log = tmp_path / "worker.log"
    env = environment(BROKER_URL=broker_url, DATABASE_URL=database_url)
    with (
        started("alarm-worker", "run", env=env, cwd=tmp_path, log=log) as process,
        redis.Redis.from_url(broker_url) as client,
    ):
        eventually(lambda: "ready." in log.read_text(), 60, 0.1)
        pid = celery_worker(process)
        control = f"/{broker_url.rpartition('/')[2]}.celery.pidbox"
        for content_type, body in bodies.items():
            client.lpush(QUEUE, envelope(body, content_type))
            heard = client.publish(
                control, envelope(body, content_type, exchange="celery.pidbox", routing_key="")
            )
            assert heard == 1, "the worker listens for remote control elsewhere"
        for alarm_id in ("1 OR 1=1", {"id": 1}, 10**30, None):
            client.lpush(
                QUEUE,
                envelope(json.dumps([[], {"alarm_id": alarm_id}, embedded]).encode(), "application/json"),
            )
        eventually(lambda: client.llen(QUEUE) == 0, 30)
        with connect(broker_url) as sender:
            publish(sender, simulate(1, 7, datetime.now(UTC)))
        eventually(orders, 60, 0.1)
        assert celery_worker(process) == pid, log.read_text()
    assert not trap.exists()
    assert pickle.loads(pickled) is not None
    assert trap.exists(), "the trap itself does not work"
