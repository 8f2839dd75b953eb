"""The line's database, made to be taken away: a PostgreSQL that ends, an SQLite file that is locked."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Protocol

from db.migrate import upgrade
from db.plant import load
from db.session import Database
from tests.helpers.servers import PostgresServer

KINDS = ("postgresql", "sqlite")


class Store(Protocol):
    url: str

    @contextmanager
    def away(self, random: Random) -> Iterator[None]:
        """Nothing can be written meanwhile; what was committed is kept."""
        ...


class Server:
    """A PostgreSQL of its own; it goes away in order, or as in a crash."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        server.create("line")
        self.url = server.url("line")

    @contextmanager
    def away(self, random: Random) -> Iterator[None]:
        random.choice((self._server.shut, self._server.kill))()
        try:
            yield
        finally:
            self._server.start()


# A process, not a thread: its lock is then nobody's own.
_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


class File:
    def __init__(self, file: Path) -> None:
        self._file = file
        self.url = f"sqlite:///{file}"

    @contextmanager
    def away(self, random: Random) -> Iterator[None]:
        command = [sys.executable, "-c", _LOCK, str(self._file)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                assert process.stdout.readline() == b"locked\n"
                yield
            finally:
                process.stdin.close()


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[tuple[Store, Database]]:
    """A migrated database with the sample plant, and a way to look into it."""
    with ExitStack() as stack:
        store: Store
        if kind == "postgresql":
            store = Server(stack.enter_context(PostgresServer(durable=True)))
        else:
            store = File(folder / "andon.db")
        database = Database(store.url)
        stack.callback(database.close)
        upgrade(database)
        load(database, None)
        yield store, database
