"""The queue: the Redis stream that alarms are pushed onto."""

from collections.abc import Iterable, Iterator
from itertools import islice
from ssl import SSLCertVerificationError

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from producers.checks import shown
from producers.events import AlarmEvent, ProducerError

STREAM = "alarms"
FIELD = "event"

_CHUNK = 500
_MAX_CAUSE_CHARACTERS = 300

# What a broker answers that starts, is full, cannot write its disk, or has just become a replica.
_REFUSALS_THAT_MAY_PASS = {
    *("LOADING", "OOM", "MISCONF", "READONLY", "NOREPLICAS", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY"),
}


class PublishError(ProducerError):
    """Raised when the broker did not confirm every event; the first ones, in `entry_ids`, it did.

    `may_pass` says whether it can help to try again with nothing changed on either side.
    """

    def __init__(self, entry_ids: list[str], cause: str, may_pass: bool = True) -> None:
        self.entry_ids = entry_ids
        self.cause = cause
        self.may_pass = may_pass
        super().__init__(entry_ids, cause, may_pass)

    @property
    def confirmed(self) -> int:
        return len(self.entry_ids)

    def __str__(self) -> str:
        return (
            f"{self.cause}; {self.confirmed} alarms were confirmed. "
            "To send the same events again is safe, what arrived already makes no second alarm"
        )


def connect(url: str) -> redis.Redis:
    """A client that gives up within seconds on a broker that is away or frozen; nothing is sent yet.

    It tries nothing twice: whoever calls knows better when and how often.
    """
    kept_alive = {} if url.startswith("unix:") else {"socket_keepalive": True}
    return redis.Redis.from_url(
        url,
        protocol=2,
        socket_connect_timeout=3,
        socket_timeout=5,
        retry=Retry(NoBackoff(), 0),
        **kept_alive,
    )


def publish(client: redis.Redis, events: Iterable[AlarmEvent]) -> list[str]:
    """Pushes the events in their order and returns their stream entry ids; raises PublishError.

    Events may arrive although PublishError was raised: an answer can be lost as well.
    """
    return publish_json(client, (event.to_json() for event in events))


def publish_json(client: redis.Redis, events: Iterable[str | bytes]) -> list[str]:
    """The same for events that are JSON already."""
    entry_ids: list[str] = []
    for chunk in _chunks(events):
        pipeline = client.pipeline(transaction=False)
        for event in chunk:
            pipeline.xadd(STREAM, {FIELD: event})
        try:
            replies = pipeline.execute(raise_on_error=False)
        except (redis.RedisError, OSError) as error:
            raise _not_confirmed(entry_ids, error) from error
        for reply in replies:
            if isinstance(reply, Exception):
                # After a failover the broker's name may lead to another server: look it up again.
                client.connection_pool.disconnect(inuse_connections=False)
                raise _not_confirmed(entry_ids, reply) from reply
            entry_ids.append(reply.decode() if isinstance(reply, bytes) else reply)
    return entry_ids


def _chunks(events: Iterable[str | bytes]) -> Iterator[list[str | bytes]]:
    remaining = iter(events)
    while chunk := list(islice(remaining, _CHUNK)):
        yield chunk


def _not_confirmed(entry_ids: list[str], error: Exception) -> PublishError:
    answer = str(error).partition(", with args")[0]  # to an unknown command, AUTH among them, what was sent
    said = shown(answer, _MAX_CAUSE_CHARACTERS) or type(error).__name__
    code = getattr(error, "status_code", None) or str(error).partition(" ")[0]
    may_pass = True
    if isinstance(error, redis.AuthenticationError):
        cause, may_pass = f"the broker wants another user or password ({said})", False
    elif code in _REFUSALS_THAT_MAY_PASS:
        cause = f"the broker takes no events at the moment ({code}: {said.removeprefix(code).strip()})"
    elif isinstance(error.__context__, SSLCertVerificationError):
        cause, may_pass = f"the broker's certificate is not trusted ({said})", False
    elif isinstance(error, redis.TimeoutError):
        cause = f"the broker does not answer ({said})"
    elif isinstance(error, redis.ConnectionError | OSError):
        cause = f"the broker cannot be reached ({said})"
    elif isinstance(error, redis.InvalidResponse):
        cause = f"what answers there is no broker ({said})"
    else:
        cause = f"the broker refused an event ({said})"
        may_pass = "has exhausted the last possible ID" in said  # the intake begins such a stream anew
    return PublishError(entry_ids, cause, may_pass)
