"""A database behind TLS and a password, and a whole worker whose broker and database are both there."""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from db.session import Database
from db.settings import DatabaseSettings
from producers.queue import STREAM, connect, publish
from producers.simulator import simulate
from tests.helpers.guarded import UNKNOWN, Certificates, Guarded, fault, guarded_broker, guarded_database
from tests.helpers.processes import BIN, environment, run, started
from tests.helpers.servers import PostgresServer
from tests.helpers.support import eventually
from tests.helpers.tls import needs_openssl

pytestmark = [needs_openssl, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def broker(certificates: Certificates) -> Iterator[Guarded]:
    with guarded_broker(certificates) as guarded:
        yield guarded


@pytest.fixture(scope="module")
def guarded_postgres(postgres: PostgresServer, certificates: Certificates) -> Iterator[Guarded]:
    with guarded_database(postgres, certificates) as guarded:
        yield guarded


def ask(url: str) -> int:
    database = Database(DatabaseSettings(database_url=url).database_url)
    try:
        with database.reading() as session:
            return int(session.execute(text("SELECT 1")).scalar_one())
    finally:
        database.close()


def test_a_database_with_a_trusted_certificate_is_asked(guarded_postgres: Guarded) -> None:
    assert ask(guarded_postgres.database_url()) == 1
    assert guarded_postgres.fronts["good"].connections == 1


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ("stranger", "certificate verify failed"),
        ("wrong name", 'server certificate for "elsewhere.example" does not match host name "localhost"'),
        ("without TLS", "server does not support SSL, but SSL was required"),
    ],
)
def test_a_database_that_cannot_prove_who_it_is_is_refused(
    guarded_postgres: Guarded, front: str, why: str
) -> None:
    assert why in fault(lambda: ask(guarded_postgres.database_url(front)))


def test_a_wrong_password_of_the_database_is_said_in_one_line_and_not_shown(
    tmp_path: Path, guarded_postgres: Guarded
) -> None:
    wrong = guarded_postgres.database_url(password="S3CRET@:/%wrong")
    assert "password authentication failed" in fault(lambda: ask(wrong))
    checked = subprocess.run(
        [str(BIN / "alarm-db"), "check"],
        env=environment(DATABASE_URL=wrong),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 1
    assert checked.stderr.startswith(
        "error: cannot use the database postgresql+psycopg://plant:***@localhost:"
    )
    assert 'password authentication failed for user "plant"' in checked.stderr
    assert len(checked.stderr.splitlines()) == 1
    assert "S3CRET" not in checked.stderr + checked.stdout


def push(broker: Guarded) -> None:
    with connect(broker.broker_url()) as client:
        publish(client, simulate(1, 7, datetime.now(UTC)))


def test_a_worker_takes_an_alarm_to_its_order_over_tls_and_with_passwords(
    tmp_path: Path, broker: Guarded, guarded_postgres: Guarded
) -> None:
    env = environment(BROKER_URL=broker.broker_url(), DATABASE_URL=guarded_postgres.database_url())
    run("alarm-db", "upgrade", env=env, cwd=tmp_path)
    database, log = (
        Database(DatabaseSettings(database_url=env["DATABASE_URL"]).database_url),
        tmp_path / "log",
    )

    def orders() -> int:
        with database.reading() as session:
            return int(session.execute(text("SELECT count(*) FROM work_order")).scalar_one())

    push(broker)
    with started("alarm-worker", "run", env=env, cwd=tmp_path, log=log) as process:
        eventually(orders, 60, 0.1)
        process.terminate()
        assert process.wait(30) == 0, log.read_text()
    database.close()
    assert "Connected to rediss://plant:**@localhost:" in log.read_text()
    assert "S3CRET" not in log.read_text()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_worker_takes_nothing_from_a_broker_that_it_cannot_trust_and_goes_on_trying(
    tmp_path: Path, broker: Guarded, database_url: str
) -> None:
    log, url = tmp_path / "log", broker.broker_url("stranger")
    port = broker.fronts["stranger"].port
    wanted = (
        f"the broker failed, trying again until it is back: ConnectionError: Error 1 connecting to "
        f"localhost:{port}",
        "Cannot connect to rediss://plant:**@",
        UNKNOWN,
    )
    push(broker)
    env = environment(BROKER_URL=url, DATABASE_URL=database_url)
    with started("alarm-worker", "run", env=env, cwd=tmp_path, log=log) as process:
        eventually(lambda: all(words in log.read_text() for words in wanted), 60, 0.1)
        process.terminate()
        assert process.wait(30) == 0
    assert "S3CRET" not in log.read_text()
    assert "ended unasked" not in log.read_text()
    assert broker.fronts["stranger"].connections == 0
    with connect(broker.broker_url()) as client:
        assert client.xlen(STREAM) > 0
        client.flushdb()
