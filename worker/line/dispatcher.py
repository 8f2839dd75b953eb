"""The only sender of tasks: few at a time, the worst alarm first, what is late once more."""

import contextlib
import functools
import logging
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta

from redis import Redis, RedisError
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from db.queries import clock
from db.queries.alarms import dispatch, lease, probes
from db.queries.alarms.dispatch import DueAlarm
from db.session import Database
from producers.queue import connect
from worker.process.backoff import BackOff

logger = logging.getLogger(__name__)

OUTSTANDING_PER_THREAD = 4
REDISPATCH_AFTER = timedelta(seconds=15)
LOST_AFTER = timedelta(seconds=5)
"""While the broker's lists are empty: its task is no more, or with a busy worker, for its next free thread;
of two tasks the second finds nothing to do."""
PAUSE_SECONDS = 0.5
PAUSE_WHEN_FULL_SECONDS = 0.1


class SendError(Exception):
    """Raised when a task could not be sent; its alarm and those after it are due again."""


class Dispatcher:
    """Marks due alarms in the database and sends a task for each, after the commit.

    Probes go first, and do not count: one is sent when a busy line's room is filled, too.
    `queue_lists` are the broker's lists that the tasks go to. Their length counts too: a task that waits for
    longer than `redispatch_after` (LOST_AFTER while they are empty) is taken for lost and sent again, and a
    busy worker's queue would grow.
    """

    def __init__(
        self,
        database: Database,
        broker_url: str,
        queue_lists: Sequence[str],
        send: Callable[[DueAlarm], None],
        concurrency: int,
        redispatch_after: timedelta = REDISPATCH_AFTER,
        send_probe: Callable[[str], None] = lambda token: None,
    ) -> None:
        self._database = database
        self._broker_url = broker_url
        self._queue_lists = queue_lists
        self._send = send
        self._send_probe = send_probe
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
        after = self._redispatch_after if queued else min(LOST_AFTER, self._redispatch_after)
        with self._database.reading() as session:
            now = clock.now(session)
            room = self._most - max(dispatch.outstanding(session, now, after), queued)
            wanted = dispatch.look_ahead(session, room, now, after)
        with self._database.writing() as session:
            if not dispatch.my_turn(session):
                return False  # another worker's dispatcher is at it, for all
            now = clock.now(session)  # when it is our turn, not when we began to wait for it
            tokens = probes.take_due(session, now, after)
            room = min(room, self._most - max(dispatch.outstanding(session, now, after), queued))
            due = dispatch.take_due(session, room, now, after, wanted)
        todo = [functools.partial(self._send_probe, token) for token in tokens]
        todo += [functools.partial(self._send, alarm) for alarm in due]
        for sent, send in enumerate(todo):
            try:
                send()
            except Exception as error:  # kombu's, redis' or a socket's: each means that it was not sent
                self._take_back(tokens[sent:], due[max(0, sent - len(tokens)) :])
                unsent = len(todo) - sent
                raise SendError(f"{unsent} tasks were not sent: {type(error).__name__}") from error
        return len(due) >= room

    def _take_back(self, tokens: Sequence[str], unsent: Sequence[DueAlarm]) -> None:
        """Makes them due at once. One may have been sent all the same: a second task finds nothing to do."""
        with self._database.writing() as session:
            if tokens:
                probes.undispatch(session, tokens)
            now = clock.now(session)
            for alarm in unsent:
                lease.undispatch(session, alarm.id, now)
