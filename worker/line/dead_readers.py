"""Readers of the consumer group that are gone for good: each host's name would stay in its list for ever."""

import logging

from redis import Redis, ResponseError

from producers.queue import STREAM

logger = logging.getLogger(__name__)

GONE_SECONDS = 24 * 60 * 60

# In one step, since a reader that still has entries would take them along, and nobody would be given them.
_FORGET = """
local gone = 0
for _, fields in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
    local reader = {}
    for i = 1, #fields, 2 do reader[fields[i]] = fields[i + 1] end
    if reader.pending == 0 and reader.idle > tonumber(ARGV[2]) then
        redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], reader.name)
        gone = gone + 1
    end
end
return gone
"""


def forget(broker: Redis, group: str) -> int:
    """Forget the readers that have nothing left and have not asked for so long; how many it were."""
    try:
        gone = int(broker.eval(_FORGET, 1, STREAM, group, int(GONE_SECONDS * 1000)))
    except ResponseError as error:  # the broker may allow no scripts, and the list does no harm
        logger.debug("readers that are gone are not forgotten: %s", error)
        return 0
    if gone:
        logger.info("forgot %d readers that are gone", gone)
    return gone
