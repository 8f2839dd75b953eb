"""Passwords and keys through the whole line, broken at each place: none is logged, stored or shown."""

import base64
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psutil
import pytest
import redis
from celery import Celery
from sqlalchemy import inspect, text

from db.session import Database
from producers.events import AlarmEvent
from producers.queue import connect, publish
from producers.settings import BrokerSettings
from tests.helpers.endpoint import Conversation, Endpoint, Message, Reply, good_calls, says
from tests.helpers.processes import descendants, environment, run, started
from tests.helpers.scram import scram_role, scram_url
from tests.helpers.servers import PostgresServer, ValkeyServer, free_port
from tests.helpers.support import eventually
from worker.app import build_app
from worker.settings import WorkerSettings
from worker.tasks import HANDLE_ALARM

pytestmark = pytest.mark.timeout(180)

ROLE = "plant"
MARK = "S3CRET"
"""In each secret, so that any form of any of them is found."""
BROKER, DATABASE = f"@:/%中文{MARK}-broker", f"@:/%中文{MARK}-database"
KEY, IN_QUERY, IN_URL, FLOWER = f"sk-{MARK}-key", f"{MARK}-query", f"{MARK}@url", f"planner:{MARK}-flower"
TOLD = base64.b64encode(FLOWER.encode()).decode()


@dataclass
class Said:
    """Everything that was written anywhere, by where."""

    texts: dict[str, str] = field(default_factory=dict)

    def leaks(self) -> list[str]:
        found = []
        for where, words in self.texts.items():
            for mark in (MARK, TOLD):
                at = words.find(mark)
                if at >= 0:
                    found.append(f"{where}: …{words[max(0, at - 80) : at + 40]}…")
        return found


@dataclass
class Moody:
    """A model, or the endpoint before it, that quotes the key it was sent wherever it can."""

    mood: str = "refuses"

    def __call__(self, conversation: Conversation) -> Message | Reply:
        if self.mood == "refuses":
            error = {
                "message": f"Incorrect API key provided: {KEY} ({IN_QUERY}, {IN_URL})",
                "code": "invalid_api_key",
            }
            return Reply.json({"error": error}, status=401)
        calls = [(name, arguments | self._extra(name)) for name, arguments in good_calls(conversation)]
        if calls[0][0] == "query_spare_parts":
            calls.append(("query_spare_parts", {"part": KEY}))
        return says(f"the key is {KEY}, the query {IN_QUERY}, the password {IN_URL}", *calls)

    def _extra(self, name: str) -> dict[str, Any]:
        words = f"用 {KEY} 检查 {IN_QUERY} {IN_URL}"
        return {"diagnosis": words, "actions": [words]} if name == "generate_work_order" else {"note": KEY}


class Plant:
    """The whole line with a secret at each door."""

    def __init__(
        self, folder: Path, postgres: PostgresServer, valkey: ValkeyServer, endpoint: Endpoint
    ) -> None:
        self.folder, self.postgres, self.valkey, self.said = folder, postgres, valkey, Said()
        self.broker_url = f"redis://{ROLE}:{quote(BROKER, safe='')}@127.0.0.1:{valkey.port}/0"
        model_url = endpoint.url.replace("://", f"://user:{quote(IN_URL, safe='')}@")
        self.env = environment(
            BROKER_URL=self.broker_url,
            DATABASE_URL=scram_url(postgres, ROLE, DATABASE),
            LLM_MODEL="moody",
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=f"{model_url}?api-key={IN_QUERY}",
            FLOWER_BASIC_AUTH=FLOWER,
            LEASE_SECONDS="3",
        )
        self.database = Database(self.env["DATABASE_URL"])
        self.flower_port = free_port()

    def set_broker_password(self, password: str) -> None:
        with redis.Redis.from_url(self.valkey.url) as client:
            rights = ("on", "resetpass", f">{password}", "~*", "&*", "+@all")
            client.execute_command("ACL", "SETUSER", ROLE, *rights)
            client.execute_command("CLIENT", "KILL", "USER", ROLE)

    def set_database_password(self, password: str) -> None:
        self.postgres.execute(f"ALTER ROLE {ROLE} PASSWORD '{password}'")
        self.postgres.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'"
        )

    def orders(self) -> int:
        with self.database.reading() as session:
            return int(session.execute(text("SELECT count(*) FROM work_order")).scalar_one())

    def make_an_order(self, line_name: str) -> None:
        """Of an alarm that belongs to none that stands."""
        orders = self.orders()
        event = {
            "event_id": str(uuid4()),
            "source": "a test",
            "line_name": line_name,
            "fault_code": "E401",
            "occurred_at": datetime.now(UTC),
        }
        with connect(self.broker_url) as client:
            publish(client, [AlarmEvent(**event)])
        eventually(lambda: self.orders() > orders, 60, 0.1)

    def flower(self, path: str) -> str:
        """The page, or what it says when it refuses; empty while nobody answers."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.flower_port}/{path}")
        request.add_header("Authorization", f"Basic {TOLD}")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                page: str = answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                page = error.read().decode()
        except OSError:
            return ""
        self.said.texts[f"Flower's /{path}"] = page
        return page

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()


@contextmanager
def running(plant: Plant) -> Iterator[list[subprocess.Popen[bytes]]]:
    flower = ["celery", "-A", "worker.app", "flower", "--address=127.0.0.1", f"--port={plant.flower_port}"]
    commands = {"flower": flower, "worker": ["alarm-worker", "run"]}
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                started(*command, env=plant.env, cwd=plant.folder, log=plant.folder / f"{name}.log")
            )
            for name, command in commands.items()
        ]


def break_everything(plant: Plant, moody: Moody, app: Celery) -> None:
    """An endpoint that refuses, then one that talks; other passwords for a while; servers that are gone."""
    plant.make_an_order("交互屏组装A线")
    moody.mood = "talks"
    plant.make_an_order("交互屏组装B线")
    plant.set_database_password("another")
    app.send_task(HANDLE_ALARM, kwargs={"alarm_id": 1})
    eventually(lambda: "password authentication failed" in plant.log("worker"), 30, 0.1)
    plant.set_database_password(DATABASE)
    plant.set_broker_password("another")
    eventually(lambda: "Cannot connect to redis://plant:**@" in plant.log("worker"), 30, 0.1)
    eventually(lambda: "invalid username-password pair" in plant.log("flower"), 30, 0.1)
    plant.set_broker_password(BROKER)
    plant.make_an_order("SMT Line 1")


def ask_everybody(plant: Plant, app: Celery, processes: list[subprocess.Popen[bytes]]) -> None:
    said = plant.said.texts
    asked = app.control.inspect(timeout=20, limit=1)
    (worker,) = asked.ping()
    for path in ("", "workers", f"worker/{worker}", "tasks", "broker", "metrics", "api/workers?refresh=1"):
        assert plant.flower(path), path
    tasks = plant.flower("api/tasks")
    assert "settled" in tasks
    for task_id in json.loads(tasks):
        plant.flower(f"task/{task_id}")
    for name in (
        "stats",
        "report",
        "registered",
        "active",
        "active_queues",
        "scheduled",
        "reserved",
        "revoked",
    ):
        said[f"inspect {name}"] = repr(getattr(asked, name)())
    said["inspect conf"] = repr(asked.conf(with_defaults=True))
    assert "broker_url" in said["inspect conf"]
    assert "'ssl': {}" in said["inspect stats"], "the worker answers with Celery's own words"
    family = [psutil.Process(process.pid) for process in processes]
    family += [child for process in processes for child in descendants(process.pid)]
    said["the list of processes"] = repr([process.cmdline() for process in family])
    with app.connection_for_read() as connection:
        said["Celery's connection"] = f"{connection!r} {connection.as_uri()} {app.bugreport()}"
    said["Celery's settings"] = repr(app.conf)


def read_what_is_kept(plant: Plant) -> None:
    said = plant.said.texts
    for name in ("worker", "flower"):
        said[f"the log of {name}"] = plant.log(name)
    with plant.database.reading() as session:
        for table in inspect(plant.database.engine).get_table_names():
            said[f"the table {table}"] = repr(session.execute(text(f'SELECT * FROM "{table}"')).all())
    kept = b"".join(file.read_bytes() for file in sorted(plant.valkey.folder.rglob("*.aof")))
    assert b"XADD" in kept
    said["what the broker keeps"] = kept.decode(errors="replace")


def test_no_secret_is_said_anywhere_whatever_breaks(tmp_path: Path, postgres: PostgresServer) -> None:
    moody = Moody()
    with ExitStack() as stack:
        valkey = stack.enter_context(ValkeyServer())
        endpoint = stack.enter_context(Endpoint({"moody": moody}))
        stack.enter_context(scram_role(postgres, ROLE, DATABASE))
        plant = Plant(tmp_path, postgres, valkey, endpoint)
        stack.enter_context(closing(plant.database))
        plant.set_broker_password(BROKER)
        app = stack.enter_context(
            closing(build_app(BrokerSettings(broker_url=plant.broker_url), WorkerSettings()))
        )
        for command in ("upgrade", "load", "check"):
            plant.said.texts[f"alarm-db {command}"] = run("alarm-db", command, env=plant.env, cwd=tmp_path)
        with running(plant) as processes:
            eventually(lambda: "andon" in plant.flower("api/workers?refresh=1"), 60, 0.3)
            break_everything(plant, moody, app)
            ask_everybody(plant, app, processes)
        read_what_is_kept(plant)
    assert plant.said.leaks() == []
    orders, log = plant.said.texts["the table work_order"], plant.said.texts["the log of worker"]
    assert "用 *** 检查 *** ***" in orders, "the model's words did not come through"
    assert "OpenAIAuthenticationError 401" in log
    assert "HTTP Request" not in log, "a line for each request"
