"""The only sender of tasks: few at a time, the worst alarm first, what is late once more."""

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from redis import Redis, RedisError
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from db.queries import dispatch, lease
from db.queries.dispatch import DueAlarm
from db.session import Database
from producers.queue import connect
from worker.backoff import BackOff

logger = logging.getLogger(__name__)

OUTSTANDING_PER_THREAD = 4
REDISPATCH_AFTER = timedelta(seconds=20)
PAUSE_SECONDS = 0.5
PAUSE_WHEN_FULL_SECONDS = 0.1


class SendError(Exception):
    """Raised when a task could not be sent; its alarm and those after it are due again."""


class Dispatcher:
    """Marks due alarms in the database and sends a task for each, after the commit.

    `queue_lists` are the broker's lists that the tasks go to. Their length counts too: a task that waits for
    longer than `redispatch_after` is taken for lost and sent again, and a busy worker's queue would grow.
    """

    def __init__(
        self,
        database: Database,
        broker_url: str,
        queue_lists: Sequence[str],
        send: Callable[[DueAlarm], None],
        concurrency: int,
        redispatch_after: timedelta = REDISPATCH_AFTER,
    ) -> None:
        self._database = database
        self._broker_url = broker_url
        self._queue_lists = queue_lists
        self._send = send
        self._most = OUTSTANDING_PER_THREAD * concurrency
        self._redispatch_after = redispatch_after
        self._woken = threading.Event()
        self._back_off = BackOff(logger)

    def wake(self) -> None:
        """There is something new: look now."""
        self._woken.set()

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                with contextlib.closing(connect(self._broker_url)) as broker:
                    while not stop.is_set():
                        full = self.send_due(broker)
                        self._back_off.succeeded()
                        self._woken.wait(PAUSE_WHEN_FULL_SECONDS if full else PAUSE_SECONDS)
                        self._woken.clear()
            except (RedisError, OSError, SendError) as error:
                self._back_off.failed("the broker", error, stop)
            except (DBAPIError, PoolTimeoutError) as error:
                self._back_off.failed("the database", error, stop)

    def send_due(self, broker: Redis) -> bool:
        """One round; whether it filled all the room there was, so that more may be waiting."""
        with broker.pipeline(transaction=False) as pipeline:
            for name in self._queue_lists:
                pipeline.llen(name)
            queued: int = sum(pipeline.execute())
        with self._database.writing() as session:
            now = datetime.now(UTC)  # when it is our turn, not when we began to wait for it
            fresh = dispatch.outstanding(session, now, self._redispatch_after)
            room = self._most - max(fresh, queued)
            due = dispatch.take_due(session, room, now, self._redispatch_after) if room > 0 else []
        for sent, alarm in enumerate(due):
            try:
                self._send(alarm)
            except Exception as error:  # kombu's, redis' or a socket's: each means that it was not sent
                self._take_back(due[sent:])
                raise SendError(f"{len(due) - sent} tasks were not sent: {type(error).__name__}") from error
        return len(due) == room

    def _take_back(self, unsent: Sequence[DueAlarm]) -> None:
        """Makes them due at once. One may have been sent all the same: a second task finds nothing to do."""
        now = datetime.now(UTC)
        with self._database.writing() as session:
            for alarm in unsent:
                lease.undispatch(session, alarm.id, now)
