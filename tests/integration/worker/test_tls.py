"""The broker behind TLS and a password: who is talked to, and who is refused before a password is sent."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis.exceptions import NoPermissionError

from producers.queue import connect
from producers.settings import BrokerSettings
from tests.helpers.guarded import EDGE, REFUSED, UNKNOWN, USER, Certificates, Guarded, fault, guarded_broker
from tests.helpers.processes import BIN, environment
from tests.helpers.tls import needs_openssl
from worker.app import build_app
from worker.settings import WorkerSettings

pytestmark = [needs_openssl, pytest.mark.timeout(120)]

Client = Callable[[str], bool]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def broker(certificates: Certificates) -> Iterator[Guarded]:
    with guarded_broker(certificates) as guarded:
        yield guarded


def producer(url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    alarm = ["send", "--line", "交互屏组装A线", "--code", "E401", "--wait", "0"]
    return subprocess.run(
        [str(BIN / "alarm-producer"), *alarm],
        env=environment(BROKER_URL=url),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def ping_by_kombu(url: str) -> bool:
    app = build_app(BrokerSettings(broker_url=url), WorkerSettings())
    try:
        with app.connection_for_read() as connection:
            connection.ensure_connection(max_retries=0, reraise_as_library_errors=False)
            return bool(connection.default_channel.client.ping())
    finally:
        app.close()


def ping(url: str) -> bool:
    with connect(BrokerSettings(broker_url=url).broker_url) as client:
        return bool(client.ping())


@pytest.mark.parametrize("user", [USER, EDGE])
def test_a_sender_that_may_do_nothing_but_add_to_the_stream_is_enough(
    tmp_path: Path, broker: Guarded, user: str
) -> None:
    sent = producer(broker.broker_url(user=user), tmp_path)
    assert sent.returncode == 0, sent.stderr
    with connect(broker.broker_url(user=EDGE)) as edge, pytest.raises(NoPermissionError):
        edge.lpush("andon", "{}")


@pytest.mark.parametrize("client", [ping, ping_by_kombu])
def test_a_broker_with_a_trusted_certificate_is_talked_to(broker: Guarded, client: Client) -> None:
    assert client(broker.broker_url())
    assert client(broker.broker_url(options="&socket_timeout=7&db=1"))


@pytest.mark.parametrize("client", [ping, ping_by_kombu])
@pytest.mark.parametrize("front", REFUSED)
def test_a_broker_with_another_certificate_is_refused_before_it_is_told_the_password(
    broker: Guarded, client: Client, front: str
) -> None:
    assert REFUSED[front] in fault(lambda: client(broker.broker_url(front)))
    without_authority = broker.broker_url().partition("?")[0]
    assert UNKNOWN in fault(lambda: client(without_authority))
    assert broker.fronts[front].connections == 0


@pytest.mark.parametrize("front", REFUSED)
def test_alarm_producer_says_that_the_certificate_is_not_trusted(
    tmp_path: Path, broker: Guarded, front: str
) -> None:
    sent = producer(broker.broker_url(front), tmp_path)
    assert sent.returncode == 1
    assert REFUSED[front] in sent.stderr
    assert "S3CRET" not in sent.stderr


@pytest.mark.parametrize("client", [ping, ping_by_kombu])
def test_a_wrong_password_of_the_broker_is_said_and_not_shown(broker: Guarded, client: Client) -> None:
    wrong = broker.broker_url(password="S3CRET-wrong")
    assert "invalid username-password pair" in fault(lambda: client(wrong))
