"""Keeps the passwords and keys of the settings out of all that this process logs, whoever writes it."""

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from tools.redaction import SHORT, Redactor


def install() -> None:
    """The line's own code logs no secret; this is for libraries, and for what a server says in its errors."""
    secrets = [secret for secret in _secrets() if len(secret) >= SHORT]  # a shorter one may be any word
    if secrets:
        logging.setLogRecordFactory(_Discreet(secrets))


class _Discreet:
    """Makes records whose message, and whose traceback, hold none of the secrets."""

    def __init__(self, secrets: Iterable[str]) -> None:
        written = {
            form for secret in secrets for form in (secret, quote(secret, safe=""), repr(secret)[1:-1])
        }
        self._redactor = Redactor(secrets=written)
        self._made = logging.getLogRecordFactory()
        self._traceback = logging.Formatter().formatException

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self._made(*args, **kwargs)
        try:
            said = record.getMessage()
        except Exception:  # arguments that do not fit: logging would show them all on stderr
            said = f"{record.msg!r} {record.args!r}"
        if (kept := self._without(said)) != said:
            record.msg, record.args = kept, None
        if record.exc_info:
            said = self._traceback(record.exc_info)
            if (kept := self._without(said)) != said:
                record.exc_text = kept  # what a formatter finds here it does not make anew
        return record

    def _without(self, said: str) -> str:
        return self._redactor.text(said, len(said))


def _secrets() -> Iterator[str]:
    """A setting that cannot be read has no secret to keep; whoever needs it says what is wrong with it."""
    from redis.connection import parse_url
    from sqlalchemy.engine import make_url

    from db.session import secret_names
    from db.settings import DatabaseSettings
    from producers.settings import BrokerSettings
    from worker.settings import AgentSettings

    with contextlib.suppress(Exception):
        broker: dict[str, Any] = parse_url(BrokerSettings().broker_url)  # type: ignore[no-untyped-call]
        yield from (value for name, value in broker.items() if "password" in name)
    with contextlib.suppress(Exception):
        database = make_url(DatabaseSettings().database_url)
        yield from (str(database.query[name]) for name in secret_names(database))
        yield database.password or ""
    with contextlib.suppress(Exception):
        yield from AgentSettings().secrets
    for login in os.environ.get("FLOWER_BASIC_AUTH", "").split(","):
        yield login.partition(":")[2]
