"""What a worker tells of its broker to whoever asks over the broker, Flower for one."""

from types import SimpleNamespace
from typing import Any

import pytest
from celery.worker.consumer.connection import Connection as ConnectionStep
from celery.worker.control import Panel

from producers.settings import BrokerSettings
from worker.app import build_app
from worker.broker import remote_control
from worker.settings import WorkerSettings


def told(url: str) -> dict[str, Any]:
    """The answer to `celery inspect stats`, of a worker whose consumer has this connection."""
    app = build_app(BrokerSettings(broker_url=url), WorkerSettings())
    with app.connection_for_read() as connection:
        consumer = SimpleNamespace(connection=connection)
        said = ConnectionStep.info(None, consumer) | {"pid": 7}
        consumer.controller = SimpleNamespace(stats=lambda: said)
        answer: dict[str, Any] = Panel.data["stats"](SimpleNamespace(consumer=consumer))
    app.close()
    return answer


@pytest.mark.parametrize(
    "url",
    [
        "redis://user:s3cret@h:6380/0",
        "unix://user:s3cret@/run/v.sock?db=3",
        "rediss://h/0?ssl_keyfile=/key.pem&ssl_password=s3cret",
    ],
)
def test_the_broker_is_told_of_without_any_password(url: str) -> None:
    answer = told(url)
    assert answer["pid"] == 7
    assert answer["broker"]["hostname"]
    assert "s3cret" not in repr(answer)


def test_the_rest_of_the_broker_is_told_as_celery_does() -> None:
    broker = told("rediss://h:6380/0?ssl_ca_certs=/ca.pem")["broker"]
    assert (broker["hostname"], broker["port"], broker["virtual_host"]) == ("h", 6380, "0")
    assert broker["ssl"] == {"ssl_cert_reqs": "required", "ssl_ca_certs": "/ca.pem"}


def test_a_worker_that_is_not_connected_answers_too() -> None:
    nowhere = SimpleNamespace(controller=SimpleNamespace(stats=lambda: {"broker": "N/A"}))
    assert remote_control.stats(SimpleNamespace(consumer=nowhere)) == {"broker": "N/A"}
