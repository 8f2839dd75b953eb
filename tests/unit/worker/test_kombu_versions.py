"""What our guard takes for granted of kombu: its methods, and its error when a connection is half closed."""

import inspect
from types import SimpleNamespace
from typing import Any

import celery
import kombu
import pytest
from kombu.transport.redis import Channel, Transport

from worker.broker import kombu_guard
from worker.broker.kombu_guard import GuardedChannel


def half_closed(kind: type[Channel], connection: Any) -> Any:
    channel = kind.__new__(kind)
    channel.connection = connection
    return channel


@pytest.mark.parametrize(
    "connection", [None, SimpleNamespace(client=None)], ids=["no connection", "no client"]
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_half_closed_channel_says_that_its_connection_is_lost(connection: Any, asynchronous: bool) -> None:
    channel = half_closed(GuardedChannel, connection)
    with pytest.raises(Transport.connection_errors):
        channel._get_pool(asynchronous=asynchronous)


def test_without_the_guard_it_would_be_an_error_that_ends_the_worker() -> None:
    """When this fails, kombu does so itself, and GuardedChannel._connparams can go."""
    with pytest.raises(AttributeError):
        half_closed(Channel, SimpleNamespace(client=None))._connparams()
    assert not issubclass(AttributeError, Transport.connection_errors)


def test_the_guard_fits_these_versions_and_another_one_is_to_be_looked_at() -> None:
    """After an upgrade: do kombu's methods that are overridden still mean the same, does _brpop_read still
    read with the client's parse_response, and do tests/integration/test_celery_rubbish.py and
    tests/integration/test_worker_process.py pass? Then change the numbers here."""
    assert (celery.__version__, kombu.__version__) == ("5.7.0", "5.7.0")
    assert kombu_guard.install()
    assert Transport.Channel is GuardedChannel
    source = inspect.getsource(Channel._brpop_read)
    assert "self.client.parse_response(self.client.connection," in source
    assert "self.connection._deliver(loads(bytes_to_str(item)), dest)" in source


@pytest.mark.parametrize("change", ["gone", "another signature"])
def test_a_kombu_that_the_guard_does_not_fit_is_left_alone_and_the_log_says_so(
    change: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Transport, "Channel", Channel)
    if change == "gone":
        monkeypatch.delattr(Channel, "_receive_one")
    else:
        monkeypatch.setattr(Channel, "_receive_one", lambda self, client, message: None)
    assert not kombu_guard.install()
    assert Transport.Channel is Channel
    assert "was made for (_receive_one); going on without it" in caplog.text
