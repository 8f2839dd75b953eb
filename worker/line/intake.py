"""Takes alarms off the stream: their rows are committed first, and only then are the entries acknowledged."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from redis import Redis, RedisError, ResponseError
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from db.models.alarm import RejectReason
from db.queries import clock
from db.queries.alarms import intake as rows
from db.queries.alarms import probes
from db.queries.alarms.intake import Unreadable
from db.queries.standing import floods, shelved
from db.rules import DEFAULT_RULES, Rules
from db.session import Database
from producers.queue import STREAM, connect
from worker.line import dead_readers, exhausted
from worker.line.entries import Entry, Readable, entries_of, sort_out, tokens_of
from worker.line.open_rejected import OpenRejected
from worker.process.backoff import BackOff, brief

logger = logging.getLogger(__name__)

GROUP = "andon"
BATCH = 50
BATCH_BYTES = 8 * 1024 * 1024
"""About as much is read at once where entries are large: an event has 64 KiB, rubbish may have any size."""
BLOCK_MILLISECONDS = 1000
CLAIM_EVERY_SECONDS = 10.0
END_EVERY_SECONDS = 5.0
DEAD_READER_SECONDS = 30.0


class Intake:
    """Follows the stream as one reader of the consumer group, until it is told to stop.

    `reader` is this worker's name in the group. It should stay the same over a restart, and no other running
    worker may have it: Celery asks the same of a worker's node name.
    """

    def __init__(
        self,
        database: Database,
        broker_url: str,
        reader: str,
        on_new: Callable[[], None] = lambda: None,
        dead_reader_seconds: float = DEAD_READER_SECONDS,
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        self._database = database
        self._broker_url = broker_url
        self._reader = reader
        self._on_new = on_new
        self._rules = rules
        self._dead_reader_milliseconds = int(dead_reader_seconds * 1000)
        self._asked = self._batch = 1  # the last process may have ended of what it was given
        self._back_off = BackOff(logger)
        self._open_rejected = OpenRejected(database)

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                with contextlib.closing(connect(self._broker_url)) as broker:
                    self._follow(broker, stop)
            except (RedisError, OSError) as error:
                self._back_off.failed("the broker", error, stop)
            except (DBAPIError, PoolTimeoutError) as error:
                self._back_off.failed("the database", error, stop)

    def _follow(self, broker: Redis, stop: threading.Event) -> None:
        """Nothing is kept in memory over a failure: what was read and not acknowledged is read again here."""
        for command in ("XREADGROUP", "XAUTOCLAIM"):
            broker.set_response_callback(command, _as_sent)
        _create_group(broker)
        while not stop.is_set() and (entries := self._read(broker, "0")):
            self._take_in(broker, entries)
        claim_at = end_at = time.monotonic()
        while not stop.is_set():
            if time.monotonic() >= end_at:
                self._end_what_is_over()
                end_at = time.monotonic() + END_EVERY_SECONDS
            if time.monotonic() >= claim_at:
                exhausted.begin_anew(broker, GROUP)
                self._claim(broker, stop)
                dead_readers.forget(broker, GROUP)
                self._open_rejected.look()
                claim_at = time.monotonic() + CLAIM_EVERY_SECONDS
            self._take_in(broker, self._read(broker, ">"))

    def _read(self, broker: Redis, after: str) -> list[Entry]:
        """New entries (`>`), or those that this reader was given and did not acknowledge (`0`)."""
        block = ("BLOCK", BLOCK_MILLISECONDS) if after == ">" else ()
        options = ("GROUP", GROUP, self._reader, "COUNT", self._ask_for(), *block)
        reply: Any = broker.execute_command("XREADGROUP", *options, "STREAMS", STREAM, after)  # type: ignore[no-untyped-call]
        return self._came_through(entries_of(reply[0][1]) if reply else [])

    def _ask_for(self) -> int:
        """How many entries. Should they be too much for our memory or for the broker's time, they come again,
        as what we were given before: so the next attempt begins with a single one."""
        self._asked, self._batch = self._batch, 1
        return self._asked

    def _came_through(self, entries: list[Entry]) -> list[Entry]:
        size = sum(len(name) + len(value) for entry in entries for name, value in entry.fields or [])
        that_fit = BATCH_BYTES * len(entries) // max(1, size)
        self._batch = max(1, min(BATCH, 2 * self._asked, that_fit)) if entries else BATCH
        return entries

    def _claim(self, broker: Redis, stop: threading.Event) -> None:
        """Takes over what a reader that is gone was given and did not acknowledge."""
        cursor = b"0-0"
        while not stop.is_set():
            idle = self._dead_reader_milliseconds
            options = (STREAM, GROUP, self._reader, idle, cursor, "COUNT", self._ask_for())
            reply: Any = broker.execute_command("XAUTOCLAIM", *options)  # type: ignore[no-untyped-call]
            cursor, entries = reply[0], self._came_through(entries_of(reply[1]))
            if entries:
                logger.info("took over %d entries that another reader left", len(entries))
                self._take_in(broker, entries)
            if cursor == b"0-0":
                return

    def _take_in(self, broker: Redis, entries: Sequence[Entry]) -> None:
        if entries:
            self._store(entries)
            ids = [entry.entry_id for entry in entries]
            with broker.pipeline(transaction=True) as pipeline:
                pipeline.xack(STREAM, GROUP, *ids)
                pipeline.xdel(STREAM, *ids)
                pipeline.execute()
        self._back_off.succeeded()

    def _store(self, entries: Sequence[Entry]) -> None:
        readable, unreadable = sort_out(entries)
        try:
            self._commit(readable, unreadable)
        except Exception as error:
            if not _blames_a_row(error):
                raise
            logger.warning("a batch was refused (%s), so its alarms are stored one by one", brief(error))
            self._commit([], unreadable)
            for one in readable:
                self._store_one(one)
        if tokens := tokens_of(entries):
            with self._database.writing() as session:
                probes.receive(session, tokens)
            self._on_new()

    def _store_one(self, one: Readable) -> None:
        try:
            self._commit([one], [])
        except Exception as error:
            if not _blames_a_row(error):
                raise
            entry_id, raw, _ = one
            detail = f"the database refused it: {type(error).__name__}"
            self._commit([], [Unreadable(entry_id, raw, RejectReason.INVALID, detail)])

    def _commit(self, readable: Sequence[Readable], unreadable: Sequence[Unreadable]) -> None:
        with self._database.writing() as session:
            done = rows.accept(session, readable, unreadable, clock.now(session), self._rules)
        if done.new or done.rejected:
            logger.info(
                "took in %d alarms, %d sent again, %d rejected", done.new, done.repeated, done.rejected
            )
        if done.new:
            self._on_new()

    def _end_what_is_over(self) -> None:
        """Shelvings and floods end by themselves. Should that fail, alarms must come in all the same."""
        try:
            self._end_shelvings_and_floods()
        except Exception as error:
            if isinstance(error, DBAPIError | PoolTimeoutError) and not _blames_a_row(error):
                raise  # the database is in trouble
            logger.exception("shelvings and floods could not be ended; that is tried again and again")

    def _end_shelvings_and_floods(self) -> None:
        with self._database.reading() as session:
            now = clock.now(session)
            over = shelved.any_over(session, now), floods.any_over(session, now, self._rules)
        # In a scope each: both hold lines, and all the lines of a scope are held in one go.
        if over[0]:
            with self._database.writing() as session:
                shelved.release(session, now, self._rules)
            self._on_new()
        if over[1]:
            with self._database.writing() as session:
                floods.end(session, now, self._rules)


def _blames_a_row(error: Exception) -> bool:
    """Whether a value in one of the rows is at fault; all else means that the database is in trouble."""
    if isinstance(error, DBAPIError):
        return isinstance(error, DataError | IntegrityError)
    return isinstance(error, StatementError | ValueError | OverflowError)


def _create_group(broker: Redis) -> None:
    """From the stream's beginning: what was pushed before the first worker ran is read too."""
    try:
        broker.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
    except ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise


def _as_sent(reply: Any, **_options: Any) -> Any:
    """redis-py would make a dict of an entry's fields and lose repeated ones."""
    return reply
