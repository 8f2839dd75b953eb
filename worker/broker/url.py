"""BROKER_URL as kombu wants it, so that Celery and Flower read the same out of it as the stream's client."""

from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from kombu.utils.url import maybe_sanitize_url
from redis.connection import parse_url

OPTIONS = (
    "socket_timeout",
    "socket_connect_timeout",
    "socket_keepalive",
    "health_check_interval",
    "client_name",
)
"""Of the Redis client's options those that kombu has too. `max_connections` is for the worker to count."""


class Masked(str):
    """An address whose `repr`, as in that of Celery's configuration, shows no password."""

    def __repr__(self) -> str:
        return repr(maybe_sanitize_url(str(self), mask="***"))


class KombuUrl(NamedTuple):
    url: Masked
    tls: dict[str, Any] | None
    """For `broker_use_ssl`: kombu by itself would trust any certificate."""
    options: dict[str, Any]
    """For `broker_transport_options`."""


def kombu_url(url: str) -> KombuUrl:
    """kombu fails at an option in an address that is none of its own, so they are handed to it apart."""
    stated: dict[str, Any] = parse_url(url)  # type: ignore[no-untyped-call]
    user, password = (quote(stated.get(name) or "", safe="") for name in ("username", "password"))
    login = f"{user}:{password}@" if password else f"{user}@" if user else ""
    database = stated.get("db", 0)
    options = {name: stated[name] for name in OPTIONS if name in stated}
    if "path" in stated:
        path = quote(stated["path"])
        return KombuUrl(Masked(f"redis+socket://{login}{path}?virtual_host={database}"), None, options)
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    tls = None
    if parts.scheme == "rediss":
        tls = {"ssl_cert_reqs": "required"}
        tls |= {name: value for name, value in stated.items() if name.startswith("ssl_")}
    return KombuUrl(Masked(f"{parts.scheme}://{login}{host}/{database}"), tls, options)
