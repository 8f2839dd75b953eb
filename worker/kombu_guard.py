"""Keeps the worker alive when the broker restarts under it: a small repair of kombu 5.7's Redis channel."""

import functools
from collections.abc import Callable
from typing import Any

import kombu
from kombu.transport.redis import Channel
from redis.exceptions import ConnectionError as BrokerConnectionError


def install() -> bool:
    """Repairs kombu's channel where it needs it; whether it does.

    Celery 5.7 closes a broken connection before the channels on it are done. A channel that is asked for its
    connection's parameters in that half-closed state reads an attribute of None. The AttributeError is none
    of the connection errors that the consumer survives, so it ends the worker. With the guard the channel
    says what is true: the connection is gone.

    This can go when a kombu that does so itself is the least one in pyproject.toml: take the call in
    worker/app.py out and see whether tests/unit/test_kombu_guard.py still passes.
    """
    if kombu.VERSION[:2] != (5, 7):
        return False
    if not hasattr(Channel._connparams, "__wrapped__"):
        Channel._connparams = _guarded(Channel._connparams)  # type: ignore[method-assign]
    return True


def _guarded(connection_parameters: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(connection_parameters)
    def guarded(channel: Any, *args: Any, **kwargs: Any) -> Any:
        if channel.connection is None or channel.connection.client is None:
            raise BrokerConnectionError("the channel's connection is closed")
        return connection_parameters(channel, *args, **kwargs)

    return guarded
