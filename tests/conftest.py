"""The servers and databases of the tests: started once, and clean for each test."""

import itertools
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
import redis

from db.session import Database
from tests.helpers.servers import PostgresServer, ValkeyServer

_TEMPLATE = "migrated"


def pytest_configure() -> None:
    """A SIGTERM ends the tests as Ctrl-C does: with their servers stopped and their files removed."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.fixture(scope="session")
def valkey() -> Iterator[str]:
    """The address of a running Valkey, without a database number."""
    with ValkeyServer() as server:
        yield server.url


@pytest.fixture(scope="session")
def _broker_numbers() -> Iterator[int]:
    return itertools.cycle(range(1, 1024))


@pytest.fixture
def broker_url(valkey: str, _broker_numbers: Iterator[int]) -> Iterator[str]:
    """A database of Valkey that no other test has used: what an earlier one left behind cannot reach it."""
    url = f"{valkey}/{next(_broker_numbers)}"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
        yield url
        client.flushdb()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running PostgreSQL that holds a migrated, empty template."""
    from db.migrate import upgrade

    with PostgresServer() as server:
        server.create(_TEMPLATE)
        database = Database(server.url(_TEMPLATE))
        try:
            upgrade(database)
        finally:
            database.close()
        yield server


@pytest.fixture(scope="session")
def _migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from db.migrate import upgrade

    file = tmp_path_factory.mktemp("template") / "andon.db"
    database = Database(f"sqlite:///{file}")
    try:
        upgrade(database)
    finally:
        database.close()
    return file


@pytest.fixture(scope="session")
def _database_numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(
    request: pytest.FixtureRequest, tmp_path: Path, _database_numbers: Iterator[int]
) -> Iterator[str]:
    """The address of a migrated, empty database of this test's own; a DATABASE_URL for other processes."""
    if request.param == "sqlite":
        file = tmp_path / "andon.db"
        shutil.copyfile(request.getfixturevalue("_migrated_file"), file)
        yield f"sqlite:///{file}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = f"test_{next(_database_numbers)}"
    server.create(name, _TEMPLATE)
    yield server.url(name)
    server.drop(name)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """The same database, opened; wide enough for a test's many threads."""
    opened = Database(database_url, pool_size=16)
    yield opened
    opened.close()


@pytest.fixture
def plant(database: Database) -> Database:
    """The same database with the sample plant loaded."""
    from db.plant import load

    load(database, None)
    return database
