"""A stream whose last possible entry id was used takes nothing more, for ever: emptied, it is begun anew.

Whoever may add to the stream may choose an entry's id, so one wrong clock, or one ill will, is enough.
"""

import logging

from redis import Redis, ResponseError, WatchError

from producers.queue import STREAM

logger = logging.getLogger(__name__)

NO_CLOCK_SAYS_SO = 2**63
"""Milliseconds: ids go up to twice that."""


def begin_anew(broker: Redis, group: str) -> bool:
    """Whether the stream was exhausted and is now begun anew. One that still holds entries is left alone."""
    with broker.pipeline() as pipeline:
        try:
            pipeline.watch(STREAM)  # type: ignore[no-untyped-call]
            told = pipeline.xinfo_stream(STREAM)
            milliseconds = int(told["last-generated-id"].partition(b"-")[0])
            if milliseconds < NO_CLOCK_SAYS_SO or told["length"]:
                return False
            pipeline.multi()
            pipeline.delete(STREAM)
            pipeline.xgroup_create(STREAM, group, id="0", mkstream=True)
            pipeline.execute()
        except (WatchError, ResponseError):  # something was added, or it is gone, or may not be looked at
            return False
    logger.error("an entry took the last possible id of the stream; it was empty, so it is begun anew")
    return True
