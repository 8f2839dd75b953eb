"""kombu's Redis channel, guarded: what others write into the broker neither ends the worker nor stops it."""

import inspect
import logging
from queue import Empty
from typing import Any
from uuid import uuid4

import kombu
import redis
from kombu.transport import virtual
from kombu.transport.redis import Channel, Transport
from redis.exceptions import ConnectionError as BrokerConnectionError
from redis.exceptions import RedisError, ResponseError

from db.queries.alarms.intake import KEPT_BYTES
from producers.checks import shown
from producers.queue import STREAM
from worker.broker import hints
from worker.line.entries import NOT_A_TASK
from worker.process.seldom import Seldom
from worker.tasks import QUEUE, queue_lists

logger = logging.getLogger(__name__)
_set_aside_log = Seldom(logger, logging.WARNING)
_lost_log = Seldom(logger, logging.ERROR)
_dropped_log = Seldom(logger, logging.WARNING)

_EXCERPT_CHARACTERS = 80
_EXCHANGES = (QUEUE, "celery.pidbox", "reply.celery.pidbox", "celeryev")
_LISTS = {name.encode() for name in queue_lists()}

_OVERRIDDEN = {
    Channel: {
        "_brpop_read": ["self", "options"],  # calls what _get_client() made, by parse_response(…, "BRPOP")
        "_connparams": ["self", "asynchronous"],
        "_get_client": ["self"],
        "_new_queue": ["self", "queue", "auto_delete", "kwargs"],
        "_receive_one": ["self", "c"],
        "_restore": ["self", "message", "leftmost"],
        "get_table": ["self", "exchange"],
    },
    virtual.QoS: {"_flush": ["self"], "restore_unacked": ["self"]},
}


def install() -> bool:
    """Makes the guarded channel the one of kombu's Redis transport; whether it fits this kombu.

    Where it does not, the worker runs with kombu's own: alarms are handled, but rubbish on Celery's list, or
    a restart of the broker, can end the worker, and its supervisor then starts it again.
    """
    if misfits := _misfits():
        said = "kombu %s is not the one that kombu_guard.py was made for (%s); going on without it"
        logger.error(said, kombu.__version__, ", ".join(misfits))
        return False
    Transport.Channel = GuardedChannel
    return True


def _misfits() -> list[str]:
    return [
        name
        for owner, methods in _OVERRIDDEN.items()
        for name, parameters in methods.items()
        if not callable(method := getattr(owner, name, None))
        or list(inspect.signature(method).parameters) != parameters
    ]


class _Client(redis.Redis):
    """What BRPOP brought is looked at here, before kombu reads it.

    Everything is said on the one connection that is given, and once: it belongs to kombu's event loop, and to
    connect it anew, as the client's own commands would, behind that loop's back would leave it deaf.
    """

    def parse_response(self, connection: Any, command_name: Any, **options: Any) -> Any:
        reply = super().parse_response(connection, command_name, **options)
        if command_name != "BRPOP" or not reply or reply[0] not in _LISTS:
            return reply
        name, raw = reply
        try:
            return name, hints.renewed(raw)
        except Exception as error:  # whatever is wrong with it, the worker goes on
            reason = str(error) if isinstance(error, hints.NotATask) else type(error).__name__
            self._set_aside(connection, raw, reason)
            return None

    def _set_aside(self, connection: Any, raw: bytes, reason: str) -> None:
        what = f"{len(raw)} bytes on the list of tasks are no task ({reason})"
        try:
            self._ask(connection, "XADD", STREAM, "*", NOT_A_TASK, raw[:KEPT_BYTES])
        except (RedisError, OSError) as error:
            start = shown(raw[:_EXCERPT_CHARACTERS].decode(errors="replace"), _EXCERPT_CHARACTERS)
            _lost_log.say("%s and are lost, but for their start: %s; %s", what, start, type(error).__name__)
            if not isinstance(error, ResponseError):
                raise
        else:
            _set_aside_log.say("%s; they are put among the rejected alarms", what)

    def _ask(self, connection: Any, *command: Any) -> Any:
        connection.send_command(*command)
        return super().parse_response(connection, command[0])


class _QoS(virtual.QoS):
    """Remembers in this process alone what it was given; kombu's own for Redis keeps a copy in the broker.

    That copy would be put back an hour after a worker's death. The dispatcher sends again after seconds, and
    what does not stand in the broker cannot be written there by others either.
    """

    def restore_unacked(self) -> list[Any]:
        """Puts back what was not begun, if the broker takes it at the first attempt."""
        self._flush()
        try:
            for message in self._delivered.values():
                self.channel._restore(message)
        except Exception as error:
            logger.info("tasks were not put back (%s); the dispatcher sends them again", type(error).__name__)
        self._delivered.clear()
        return []


class GuardedChannel(Channel):
    ack_emulation = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.QoS = _QoS  # type: ignore[assignment]

    def _get_client(self) -> Any:
        super()._get_client()
        return _Client

    def _connparams(self, asynchronous: bool = False) -> Any:
        """Says what is true when its connection is closed already.

        Celery 5.7 closes a broken connection before the channels on it are done. kombu then reads an
        attribute of None, and an AttributeError is none of the errors that the consumer survives.
        """
        if self.connection is None or self.connection.client is None:
            raise BrokerConnectionError("the channel's connection is closed")
        return super()._connparams(asynchronous)

    def _receive_one(self, c: Any) -> Any:
        """A broadcast: a remote command, or another worker's event. What cannot be read is dropped."""
        try:
            return super()._receive_one(c)
        except (Empty, RedisError, OSError):
            raise
        except Exception as error:  # kombu survives what is not JSON, and little else
            _dropped_log.say("a broadcast could not be read and was dropped: %s", type(error).__name__)
            return None

    def get_table(self, exchange: str) -> list[tuple[str, ...]]:
        """Who is to get an answer to a remote command; rows that are none would leave it unanswered."""
        return [row for row in super().get_table(exchange) if len(row) == 3]

    def _new_queue(self, queue: str, auto_delete: bool = False, **kwargs: Any) -> None:
        """Before anything is read or written: a key of another type in the place of one of kombu's."""
        try:
            self._move_aside()
        except ResponseError as error:
            logger.warning("the types of the broker's keys cannot be looked at: %s", error)
        super()._new_queue(queue, auto_delete, **kwargs)

    def _move_aside(self) -> None:
        prefixes = (self.keyprefix_queue, self.keyprefix_binding_permanent)
        tables = [prefix % exchange for prefix in prefixes for exchange in _EXCHANGES]
        wanted = dict.fromkeys(queue_lists(), b"list") | dict.fromkeys(tables, b"set")
        wanted[self.keyprefix_binding_deadlines] = b"zset"
        with self.conn_or_acquire() as client:
            with client.pipeline(transaction=False) as pipeline:
                for key in wanted:
                    pipeline.type(key)
                found = pipeline.execute()
            for (key, right), kind in zip(wanted.items(), found, strict=True):
                if kind not in (right, b"none"):
                    aside = f"{key}.moved_aside.{uuid4()}"
                    client.rename(key, aside)
                    logger.error("the broker's key %r was of a wrong type; it is now %r", key, aside)
