"""The way to the database: one engine a process, and short scopes that read or write."""

import re
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

AWAY = (OperationalError, InterfaceError, InternalError, PoolTimeoutError)
"""What a database raises that is away, full or locked; but see `is_away`."""
SQLITE_BUSY_SECONDS = 20
POSTGRESQL_CONNECTION = {
    "connect_timeout": 5,
    # A server that is gone without a word (a pulled plug, a fail-over) would be waited for by the hour.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
    # The other way round: a worker that is stopped, or gone, in a transaction must not keep its locks. One of
    # them is on the day's order number, which every settlement wants.
    "options": "-c idle_in_transaction_session_timeout=30s",
}


def is_away(error: BaseException) -> bool:
    """Whether the database is away, full or locked, and no statement is wrong, which SQLite calls operational
    too: that is a fault of the program, and wants its traceback."""
    wrong = getattr(getattr(error, "orig", None), "sqlite_errorname", "") == "SQLITE_ERROR"
    return isinstance(error, AWAY) and not wrong


class Database:
    """An engine and its scopes. Scopes commit, nobody else does; none of them may span a model call."""

    def __init__(self, url: str, pool_size: int = 8) -> None:
        parsed = make_url(url)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        options: dict[str, Any] = {"pool_size": pool_size, "max_overflow": pool_size, "pool_timeout": 30}
        options["hide_parameters"] = True  # an error is logged; what an alarm or a person said is not
        if self.is_sqlite:
            assert parsed.database is not None
            file = Path(parsed.database).expanduser().resolve()
            file.parent.mkdir(parents=True, exist_ok=True)
            parsed = parsed.set(database=str(file))
            options["connect_args"] = {"timeout": SQLITE_BUSY_SECONDS}
        else:
            options["pool_pre_ping"] = True
            own = {name: value for name, value in POSTGRESQL_CONNECTION.items() if name not in parsed.query}
            options["connect_args"] = own
        self.url = parsed
        self.engine: Engine = create_engine(parsed, **options)
        self._turns = _Turns() if self.is_sqlite else nullcontext()
        if self.is_sqlite:
            event.listen(self.engine, "connect", _set_up_sqlite)

    def __repr__(self) -> str:
        return f"Database({redacted(self.url)})"

    @contextmanager
    def reading(self, timeout_seconds: float | None = None) -> Iterator[Session]:
        """A scope that reads. `timeout_seconds` bounds each statement, waiting for locks included."""
        with Session(self.engine) as session:
            if timeout_seconds is not None:
                self._bound(session, timeout_seconds)
            try:
                yield session
            finally:
                if timeout_seconds is not None and self.is_sqlite:
                    session.execute(text(f"PRAGMA busy_timeout = {SQLITE_BUSY_SECONDS * 1000}"))

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A scope that writes, committed at its end; on SQLite it takes the write lock at once,
        since a transaction that reads first and writes later fails when another one wrote between."""
        with self._turns, Session(self.engine, expire_on_commit=False) as session, session.begin():
            if self.is_sqlite:
                session.execute(text("BEGIN IMMEDIATE"))
            yield session

    def _bound(self, session: Session, seconds: float) -> None:
        milliseconds = max(1, int(seconds * 1000))
        # A setting of the connection on SQLite, of the transaction on PostgreSQL; neither takes a parameter.
        limit = "PRAGMA busy_timeout" if self.is_sqlite else "SET LOCAL statement_timeout"
        session.execute(text(f"{limit} = {milliseconds}"))

    def close(self) -> None:
        self.engine.dispose()


class _Turns:
    """A lock that is handed on in the order of asking. SQLite's own is asked for now and then by all who
    wait; of many, some ask in vain until their time is over."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._taken = False

    def __enter__(self) -> None:
        with self._mutex:
            if not self._taken:
                self._taken = True
                return
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        gate.acquire()

    def __exit__(self, *_exc: object) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False


def secret_names(url: URL) -> list[str]:
    """The options of an address that hold a password, or what serves as one."""
    return [name for name in url.query if re.search("password|secret|_key", name)]


def redacted(url: URL) -> str:
    """An address without any password in it."""
    return url.difference_update_query(secret_names(url)).render_as_string(hide_password=True)


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun by us, not guessed by the driver
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {SQLITE_BUSY_SECONDS * 1000}")
    _enter_wal(cursor)
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _enter_wal(cursor: Any) -> None:
    """The busy timeout does not hold for this: where several meet at a new file, some would fail at once."""
    deadline = time.monotonic() + SQLITE_BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
