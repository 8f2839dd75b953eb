"""Says once, when a worker starts, how its broker may lose alarms that it has confirmed to a sender."""

import contextlib
import logging
import threading

from redis import RedisError, ResponseError

from producers.queue import connect
from worker.process.backoff import LONGEST_SECONDS

logger = logging.getLogger(__name__)

FIRST_SECONDS = 1.0


def start(broker_url: str, stop: threading.Event) -> None:
    """In a thread of its own: a worker starts whether its broker answers or not."""
    threading.Thread(target=_run, args=(broker_url, stop), name="broker check", daemon=True).start()


def _run(broker_url: str, stop: threading.Event) -> None:
    pause = FIRST_SECONDS
    while not stop.is_set():
        try:
            for warning in warnings(broker_url):
                logger.warning("%s", warning)
            return
        except (RedisError, OSError):  # the intake says so already
            stop.wait(pause)
            pause = min(pause * 2, LONGEST_SECONDS)


def warnings(broker_url: str) -> list[str]:
    """A sentence for each, and none where the broker does not tell. Raises RedisError when it is away."""
    with contextlib.closing(connect(broker_url)) as broker:
        try:
            told = {**broker.info("persistence"), **broker.info("memory")}
        except ResponseError:  # a managed broker may keep this to itself
            return []
    found = []
    if told.get("aof_enabled") == 0:
        found.append(
            "the broker keeps no append-only file: when it restarts, alarms are lost that were confirmed and "
            "not taken in yet; set appendonly yes"
        )
    policy = str(told.get("maxmemory_policy", ""))
    if policy.startswith("allkeys"):
        found.append(
            f"the broker's maxmemory-policy is {policy}: when its memory is full, it throws the stream of "
            "alarms away instead of refusing new ones; set maxmemory-policy noeviction"
        )
    return found
