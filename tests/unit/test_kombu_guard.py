"""kombu's Redis channel, asked for its connection in the half-closed state that a broker's restart leaves."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from kombu.transport.redis import Channel, Transport

from worker import kombu_guard


@pytest.fixture
def guarded() -> Iterator[None]:
    original = Channel._connparams
    kombu_guard.install()
    yield
    Channel._connparams = original  # type: ignore[method-assign]


def half_closed(connection: Any) -> Any:
    channel = Channel.__new__(Channel)
    channel.connection = connection
    return channel


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(
    "connection", [None, SimpleNamespace(client=None)], ids=["no connection", "no client"]
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_half_closed_channel_says_that_its_connection_is_lost(connection: Any, asynchronous: bool) -> None:
    channel = half_closed(connection)
    with pytest.raises(Transport.connection_errors):
        channel._get_pool(asynchronous=asynchronous)


def test_without_the_guard_it_would_be_an_error_that_ends_the_worker() -> None:
    unguarded = getattr(Channel._connparams, "__wrapped__", Channel._connparams)
    with pytest.raises(AttributeError):
        unguarded(half_closed(SimpleNamespace(client=None)))
    assert not issubclass(AttributeError, Transport.connection_errors)


@pytest.mark.usefixtures("guarded")
def test_the_guard_is_put_on_once_however_often_it_is_installed() -> None:
    first = Channel._connparams
    assert kombu_guard.install()
    assert Channel._connparams is first


def test_another_version_of_kombu_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Channel._connparams
    monkeypatch.setattr("kombu.VERSION", (5, 8, 0))
    assert not kombu_guard.install()
    assert Channel._connparams is before
