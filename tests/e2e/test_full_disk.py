"""A disk that is full, of the database or of the broker: the line waits, loses nothing, and goes on."""

import contextlib
import itertools
import os
import pwd
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import text

from db.plant import load
from db.queries.books import books
from db.session import Database
from producers.events import AlarmEvent
from producers.queue import STREAM, connect, publish
from tests.helpers.processes import celery_worker, environment, started
from tests.helpers.producer_process import Producer
from tests.helpers.sample_events import raw
from tests.helpers.servers import PostgresServer, ValkeyServer
from tests.helpers.small_disk import Disk, small_disk
from tests.helpers.support import eventually

pytestmark = pytest.mark.timeout(240)
BATCH = 40
MOST_BATCHES = 100


@pytest.fixture
def disk() -> Iterator[Disk]:
    with small_disk(megabytes=64) as disk:
        yield disk


@pytest.fixture
def sqlite_url(disk: Disk, _migrated_file: Path) -> str:
    file = disk.path / "andon.db"
    shutil.copyfile(_migrated_file, file)
    return f"sqlite:///{file}"


@pytest.fixture
def postgresql_url(disk: Disk, postgres: PostgresServer) -> Iterator[str]:
    """Its tables on that disk; its log of changes is elsewhere, as on many servers."""
    place = disk.path / "pg"
    place.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(place, pwd.getpwnam("nobody").pw_uid, -1)
    postgres.execute(f"CREATE TABLESPACE small LOCATION '{place}'")
    postgres.execute("CREATE DATABASE on_small TEMPLATE migrated TABLESPACE small")
    yield postgres.url("on_small")
    postgres.drop("on_small")
    postgres.execute("DROP TABLESPACE small")


def fresh(numbers: Iterator[int], count: int) -> list[AlarmEvent]:
    """Alarms of as many faults."""
    now = datetime.now(UTC).isoformat()
    ids = itertools.islice(numbers, count)
    return [AlarmEvent.parse(raw(event_id=f"evt-{n}", equipment=f"设备{n}", occurred_at=now)) for n in ids]


def push_until(happened: Callable[[], bool], broker: Redis, numbers: Iterator[int]) -> int:
    """How many alarms it took."""
    for batch in range(1, MOST_BATCHES + 1):
        publish(broker, fresh(numbers, BATCH))
        time.sleep(0.2)
        if happened():
            return batch * BATCH
    raise AssertionError(f"nothing happened in {MOST_BATCHES * BATCH} alarms")


def told(database: Database, what: str) -> int:
    with database.reading() as session:
        found = books(session)
    assert found["balanced"], found["amiss"]
    return int(found[what])


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_alarms_wait_in_the_stream_while_the_databases_disk_is_full(
    request: pytest.FixtureRequest, tmp_path: Path, disk: Disk, broker_url: str, kind: str
) -> None:
    url: str = request.getfixturevalue(f"{kind}_url")
    numbers, log = itertools.count(), tmp_path / "worker.log"
    env = environment(BROKER_URL=broker_url, DATABASE_URL=url)
    with (
        contextlib.closing(Database(url)) as database,
        connect(broker_url) as broker,
        started("alarm-worker", "run", env=env, cwd=tmp_path, log=log) as process,
    ):
        load(database, None)
        publish(broker, fresh(numbers, BATCH))
        eventually(lambda: told(database, "orders") == BATCH, 60)
        pid = celery_worker(process)

        if database.is_sqlite:  # its log gives its room back, or hundreds of alarms would still find some
            with database.engine.connect() as connection:
                connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
        disk.fill()
        sent = BATCH + push_until(lambda: "the database failed" in log.read_text(), broker, numbers)
        seen = log.read_text().count("\n")
        sent += len(publish(broker, fresh(numbers, BATCH)))
        time.sleep(5)  # this is the fault: so long it lasts
        assert broker.xlen(STREAM) >= BATCH, "what was not stored may not be acknowledged"
        assert log.read_text().count("\n") - seen < 200, log.read_text()[-5000:]

        disk.free()
        eventually(lambda: told(database, "orders") == sent, 90)
        assert broker.xlen(STREAM) == 0
        assert celery_worker(process) == pid, "it was a full disk, no reason to end"
        assert "Traceback" not in log.read_text(), "it is nobody's fault but the disk's"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_alarms_wait_at_their_sender_while_the_brokers_disk_is_full(
    tmp_path: Path, disk: Disk, database_url: str, plant: Database
) -> None:
    server, numbers, log = ValkeyServer(), itertools.count(), tmp_path / "worker.log"
    shutil.rmtree(server.folder)
    server.folder = disk.path / "valkey"
    server.folder.mkdir()
    with server, connect(server.url) as broker:
        env = environment(BROKER_URL=server.url, DATABASE_URL=database_url)
        with started("alarm-worker", "run", env=env, cwd=tmp_path, log=log) as process:
            publish(broker, fresh(numbers, BATCH))
            eventually(lambda: told(plant, "orders") == BATCH, 60)
            pid = celery_worker(process)

            disk.fill()
            producer = Producer(tmp_path, server.url)
            simulated = producer("simulate", "--count", "200", "--rate", "0", "--wait", "3", "--spool", "s")
            assert simulated.returncode == 3, simulated.stderr
            assert "kept in" in simulated.stderr

            disk.free()
            drained = producer("drain", "--spool", "s")
            assert drained.returncode == 0, drained.stderr
            eventually(lambda: not broker.xlen(STREAM) and not told(plant, "open"), 90)
            with plant.reading() as session:
                found = books(session)
            assert found["active"] + found["cleared"] + found["historical"] == BATCH + 200
            assert celery_worker(process) == pid
