"""The broker's address as kombu gets it: server, login and TLS as the stream's client reads them too."""

from typing import Any

import pytest
from redis import ConnectionPool

from producers.settings import BrokerSettings
from worker.app import build_app
from worker.broker.url import kombu_url
from worker.settings import WorkerSettings

REQUIRED = {"ssl_cert_reqs": "required"}
URLS: list[tuple[str, str, dict[str, Any] | None]] = [
    ("redis://h", "redis://h/0", None),
    ("redis://h:1/2", "redis://h:1/2", None),
    ("redis://h:1?db=2", "redis://h:1/2", None),
    ("redis://[::1]:6379/0", "redis://[::1]:6379/0", None),
    ("redis://:p%40s%3Bs@h/0", "redis://:p%40s%3Bs@h/0", None),
    ("redis://user:%E4%B8%AD%2F@h/0", "redis://user:%E4%B8%AD%2F@h/0", None),
    ("redis://user@h/0", "redis://user@h/0", None),
    ("redis://h/0?username=user&password=p%40s", "redis://user:p%40s@h/0", None),
    ("redis://h/0?socket_timeout=30&protocol=2&max_connections=1", "redis://h/0", None),
    ("rediss://h/0", "rediss://h/0", REQUIRED),
    ("rediss://h/0?ssl_cert_reqs=none", "rediss://h/0", {"ssl_cert_reqs": "none"}),
    ("rediss://h/3?ssl_ca_certs=/ca.pem", "rediss://h/3", REQUIRED | {"ssl_ca_certs": "/ca.pem"}),
    ("rediss://h/0?ssl_check_hostname=false", "rediss://h/0", REQUIRED | {"ssl_check_hostname": False}),
    ("unix:///run/v.sock?db=3", "redis+socket:///run/v.sock?virtual_host=3", None),
    ("unix://u:p@/run/v%20v.sock", "redis+socket://u:p@/run/v%20v.sock?virtual_host=0", None),
]


@pytest.mark.parametrize(("url", "wanted", "tls"), URLS)
def test_each_address_is_read_as_the_redis_client_reads_it(
    url: str, wanted: str, tls: dict[str, Any] | None
) -> None:
    assert BrokerSettings(broker_url=url).broker_url == url
    assert (str(kombu_url(url).url), kombu_url(url).tls) == (wanted, tls)
    stated = ConnectionPool.from_url(url).connection_kwargs
    app = build_app(BrokerSettings(broker_url=url), WorkerSettings())
    with app.connection_for_read() as connection:
        made = connection.info()
    app.close()
    if "path" not in stated:  # kombu reads a socket's address as it connects: see test_app
        assert (made["hostname"], made["port"]) == (stated["host"], stated.get("port", 6379))
        assert (made["userid"], made["password"]) == (stated.get("username"), stated.get("password"))
        assert int(made["virtual_host"]) == stated.get("db", 0)


def test_options_of_the_redis_client_come_before_our_own_but_for_the_number_of_connections() -> None:
    url = "redis://h/0?socket_timeout=30&health_check_interval=9&max_connections=1"
    app = build_app(BrokerSettings(broker_url=url), WorkerSettings(worker_concurrency=4))
    options = app.conf.broker_transport_options
    assert (options["socket_timeout"], options["health_check_interval"]) == (30, 9)
    assert options["max_connections"] > 4
    app.close()


@pytest.mark.parametrize(
    "url", ["redis://u:s3cret@h/0", "unix://u:s3cret@/run/v.sock", "redis://h?password=s3cret"]
)
def test_no_repr_of_celerys_settings_shows_the_password(url: str) -> None:
    app = build_app(BrokerSettings(broker_url=url), WorkerSettings())
    shown = f"{app.conf!r} {kombu_url(url)!r} {app.conf.table()} {app.bugreport()}"
    app.close()
    assert "***@" in shown
    assert "s3cret" not in shown
