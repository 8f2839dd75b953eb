"""The spool: a file that keeps events in their order until the broker takes them."""

import os
import platform
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from producers.checks import shown
from producers.events import ProducerError

FORMAT = 1

_APPLICATION_ID = 0x416E646F  # tells a spool from any other SQLite file
_SMALLEST_SQLITE_BYTES = 512
_READ_ONLY = "cannot be written: neither it nor its folder may be read-only"
_FOREIGN = "is no spool, and was left as it is"
_DAMAGED = (
    "is damaged; nothing was removed from it. Move it away, with FILE-journal if that is there, "
    "and read what is left with: sqlite3 FILE .recover"
)

# AUTOINCREMENT: a number is never given twice, so it can be asked whether an event is still there.
_TABLES = (
    "CREATE TABLE spooled (n INTEGER PRIMARY KEY AUTOINCREMENT, sender TEXT NOT NULL, event TEXT NOT NULL)",
    "CREATE TABLE drainer (one INTEGER PRIMARY KEY CHECK (one = 1), who TEXT NOT NULL)",
    "INSERT INTO drainer VALUES (1, 'nobody')",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
)


class SpoolError(ProducerError):
    """Raised when the spool cannot be used, and says why; what it holds, it still holds."""


class NoSpool(SpoolError):
    """Raised when what is there is no spool of ours, or none can be made there."""


class SpooledEvent(NamedTuple):
    n: int
    sender: str
    event: bytes


class Spool:
    """At most `most` events as JSON, each with a number, in an SQLite file.

    Any number of processes may append and look; one at a time drains. What `append` has taken outlasts the
    process and a power cut. A process that dies in the middle of a call has made the whole change or none.
    """

    def __init__(self, file: str, most: int, *, make: bool = True, busy_seconds: float = 10) -> None:
        self.file = Path(os.path.realpath(file))
        self.name = shown(str(self.file), 4096)
        self.most = most
        self._busy_seconds = busy_seconds
        try:
            self._refuse_what_is_no_file(make)
        except OSError as error:
            raise NoSpool(f"{self.name} cannot be used ({error.strerror})") from error
        with self._errors_said():
            self._database = sqlite3.connect(self.file, timeout=busy_seconds, isolation_level=None)
        try:
            with self._errors_said():
                # EXTRA: the folder is synced too, so that a change cannot come undone at a power cut.
                self._database.execute("PRAGMA synchronous = EXTRA")
                self._database.text_factory = lambda text: text.decode(errors="replace")
                self._make_tables()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._database.close()

    def append(self, events: Sequence[str], sender: str) -> tuple[int, int]:
        """Takes the first events, as many as there is room for; how many, and the number of the last."""
        with self._transaction("IMMEDIATE"):
            taken = events[: max(0, self.most - len(self._held()))]
            rows = ((sender, event) for event in taken)
            self._database.executemany("INSERT INTO spooled (sender, event) VALUES (?, ?)", rows)
            last = self._held().stop - 1
        return len(taken), last

    def head(self, most: int, up_to: int) -> list[SpooledEvent]:
        """The oldest events, at most `most`, and none with a number above `up_to`."""
        # As bytes, which may be damaged too: whoever reads the stream keeps what it cannot read as an alarm.
        query = "SELECT n, sender, CAST(event AS BLOB) FROM spooled WHERE n BETWEEN ? AND ? ORDER BY n"
        with self._transaction("DEFERRED"):
            held = self._held()
            wanted = held[:most][: max(0, up_to - held.start + 1)]
            rows = self._database.execute(query, (wanted.start, wanted.stop - 1))
            found = [SpooledEvent(*row) for row in rows]
        # SQLite does not notice every damage: it may read on with a part of the rows left out.
        if [each.n for each in found] != list(wanted):
            raise SpoolError(f"{self.name} {_DAMAGED}")
        return found

    def remove(self, confirmed: Sequence[SpooledEvent]) -> None:
        """Removes what `head` gave, or the first part of that: the broker has confirmed it."""
        with self._transaction("IMMEDIATE"):
            ends = (confirmed[0].n, confirmed[-1].n)
            self._database.execute("DELETE FROM spooled WHERE n BETWEEN ? AND ?", ends)

    def last(self) -> int:
        """The number of the newest event; 0 when there is none."""
        with self._errors_said():
            return self._held().stop - 1

    def count(self, sender: str | None = None) -> int:
        """How many events it holds, of one sender or of all."""
        with self._errors_said():
            if sender is None:
                return int(self._asked("SELECT count(*) FROM spooled"))
            return int(self._asked("SELECT count(*) FROM spooled WHERE sender = ?", sender))

    @contextmanager
    def draining(self) -> Iterator[bool]:
        """Whether this process may drain: it alone, until the scope or the process ends, however it ends."""
        with self._errors_said():
            lock = sqlite3.connect(f"{self.file}-drainer", timeout=0, isolation_level=None)
        with closing(lock):
            free = True
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error as error:
                if _code(error) != sqlite3.SQLITE_BUSY:
                    raise self._said(error) from error
                free = False
            if free:
                who = f"process {os.getpid()} on {platform.node()}"
                with self._transaction("IMMEDIATE"):
                    self._database.execute("UPDATE drainer SET who = ?", (who,))
            yield free

    def drainer(self) -> str:
        """Who drains, or was the last to do so."""
        with self._errors_said():
            return shown(str(self._asked("SELECT who FROM drainer")), 200)

    def _refuse_what_is_no_file(self, make: bool) -> None:
        if self.file.is_dir():
            raise NoSpool(f"{self.name} is a folder; the spool wants to be a file")
        if self.file.exists() and not self.file.is_file():
            raise NoSpool(f"{self.name} is no regular file")
        if not self.file.exists() and not make:
            raise NoSpool(f"there is no spool {self.name}")
        folder = self.file.parent
        if not folder.is_dir():
            raise NoSpool(f"there is no folder {shown(str(folder), 4096)}")
        # Found out now, and not when the broker is away and there is something to keep.
        if not os.access(folder, os.W_OK) or (self.file.exists() and not os.access(self.file, os.W_OK)):
            raise NoSpool(f"{self.name} {_READ_ONLY}")
        # SQLite would take what is too short to tell for a file of its own.
        if self.file.exists() and 0 < self.file.stat().st_size < _SMALLEST_SQLITE_BYTES:
            raise NoSpool(f"{self.name} {_FOREIGN}")

    def _make_tables(self) -> None:
        with self._transaction("DEFERRED"):
            if self._is_a_spool():
                return
        with self._transaction("IMMEDIATE"):
            if not self._is_a_spool():  # another process may have been quicker
                for statement in _TABLES:
                    self._database.execute(statement)

    def _is_a_spool(self) -> bool:
        """False: it is empty. Anything else than that and a spool is refused."""
        application, version = self._asked("PRAGMA application_id"), self._asked("PRAGMA user_version")
        if application == _APPLICATION_ID and version == FORMAT:
            return True
        if application == _APPLICATION_ID:
            wants = f"is a spool of format {version}, and this alarm-producer knows format {FORMAT}"
            raise NoSpool(f"{self.name} {wants}; drain it with the one that wrote it")
        if application or version or self._asked("SELECT count(*) FROM sqlite_master"):
            raise NoSpool(f"{self.name} {_FOREIGN}")
        return False

    def _held(self) -> range:
        """The numbers of what it holds: events go in at one end and out at the other, so none is left out."""
        last_given = "SELECT seq FROM sqlite_sequence WHERE name = 'spooled'"
        first, last = self._database.execute(
            f"SELECT (SELECT min(n) FROM spooled), ({last_given})"
        ).fetchone()
        if first is None:
            return range(1, 1)
        if last is None or first > last:
            raise SpoolError(f"{self.name} {_DAMAGED}")
        return range(first, last + 1)

    def _asked(self, query: str, *values: object) -> Any:
        return self._database.execute(query, values).fetchone()[0]

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        """What is read in it is of one moment; what is written in an immediate one is done wholly or not."""
        with self._errors_said():
            self._database.execute(f"BEGIN {kind}")
            try:
                yield
                self._database.execute("COMMIT")
            finally:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")

    @contextmanager
    def _errors_said(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._said(error) from error

    def _said(self, error: sqlite3.Error) -> SpoolError:
        match _code(error):
            case sqlite3.SQLITE_NOTADB:
                return NoSpool(f"{self.name} {_FOREIGN}")
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
                return NoSpool(f"{self.name} {_READ_ONLY}")
            case sqlite3.SQLITE_CANTOPEN:  # SQLite takes no longer path, for one
                why = f"cannot be opened ({error}); its path may have 500 bytes, and its folder be writable"
                return NoSpool(f"{self.name} {why}")
            case sqlite3.SQLITE_BUSY:
                why = (
                    f"was locked by another program for {self._busy_seconds:g} s; end that one and try again"
                )
            case sqlite3.SQLITE_FULL:
                why = "cannot grow: the disk is full"
            case sqlite3.SQLITE_CORRUPT:
                why = _DAMAGED
            case _:
                why = f"cannot be used ({shown(str(error), 200)})"
        return SpoolError(f"{self.name} {why}")


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; what Python's module raises by itself has none."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
