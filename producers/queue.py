"""The queue: the Redis stream that alarms are pushed onto."""

from collections.abc import Iterable, Iterator
from itertools import islice

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from producers.checks import shown
from producers.events import AlarmEvent, ProducerError

STREAM = "alarms"
FIELD = "event"

_CHUNK = 500
_MAX_CAUSE_CHARACTERS = 300


class PublishError(ProducerError):
    """Raised when the broker did not confirm every event; `confirmed` of them, the first ones, it did."""

    def __init__(self, confirmed: int, cause: str) -> None:
        self.confirmed = confirmed
        self.cause = cause
        super().__init__(confirmed, cause)

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
    entry_ids: list[str] = []
    for chunk in _chunks(events):
        pipeline = client.pipeline(transaction=False)
        for event in chunk:
            pipeline.xadd(STREAM, {FIELD: event.to_json()})
        try:
            replies = pipeline.execute(raise_on_error=False)
        except (redis.RedisError, OSError) as error:
            raise PublishError(len(entry_ids), _cause(error)) from error
        for reply in replies:
            if isinstance(reply, Exception):
                raise PublishError(len(entry_ids), _cause(reply)) from reply
            entry_ids.append(reply.decode() if isinstance(reply, bytes) else reply)
    return entry_ids


def _chunks(events: Iterable[AlarmEvent]) -> Iterator[list[AlarmEvent]]:
    remaining = iter(events)
    while chunk := list(islice(remaining, _CHUNK)):
        yield chunk


def _cause(error: Exception) -> str:
    said = shown(str(error), _MAX_CAUSE_CHARACTERS) or type(error).__name__
    if isinstance(error, redis.AuthenticationError):
        return f"the broker wants another user or password ({said})"
    if isinstance(error, redis.TimeoutError):
        return f"the broker does not answer ({said})"
    if isinstance(error, redis.ConnectionError | OSError):
        return f"the broker cannot be reached ({said})"
    return f"the broker refused an event ({said})"
