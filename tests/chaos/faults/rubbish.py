"""What is no alarm and no task, in the stream and on Celery's own lists, beside the running stream."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from uuid import uuid4

from db.models.alarm import AlarmStatus
from db.queries.alarms.intake import KEPT_BYTES
from producers.queue import STREAM
from tests import rubbish
from tests.chaos.books import Books
from tests.chaos.faults.base import Fault
from tests.chaos.rig import Rig
from worker.tasks import queue_lists

AT_ONCE = 20
SAME_TAG = 5


class Rubbish(Fault):
    name = "rubbish"
    title = "rubbish in the stream and on Celery's own list"
    times = 400  # or as many as there are
    short_times = 40
    soak_times = 50
    unit = "kinds"

    def __init__(self, short: bool) -> None:
        super().__init__(short)
        self.entries: dict[str, str] = {}
        """By the stream entry's id, what kind of rubbish it is."""
        self.on_lists: dict[str, str] = {}
        """The same by the digest of the bytes that are kept."""

    def run(self, rig: Rig, random: Random, times: int) -> Iterator[float]:
        kinds: list[tuple[str, bytes | dict[bytes, bytes]]] = [
            *rubbish.on_celerys_lists(),
            *rubbish.in_the_stream(),
        ]
        random.shuffle(kinds)
        pid = rig.worker.await_pid()
        with rig.broker_client() as client:
            for number, (kind, what) in enumerate(kinds[:times]):
                if isinstance(what, bytes):
                    client.lpush(random.choice(queue_lists()), what)
                    self.on_lists[hashlib.sha256(what[:KEPT_BYTES]).hexdigest()] = kind
                else:
                    self.entries[client.xadd(STREAM, what).decode()] = kind
                if number % AT_ONCE == 0:
                    self._same_tag(rig, random)
                    yield rig.consumes(datetime.now(UTC))
        yield rig.consumes(datetime.now(UTC))
        if rig.worker.pid != pid:
            self.amiss.append(f"the worker ended: {rig.worker.said(500)}")

    def _same_tag(self, rig: Rig, random: Random) -> None:
        """Real tasks for real alarms under one delivery tag, by which kombu tells messages apart."""
        alarms = [*rig.watch.attempts(AlarmStatus.SETTLED, AlarmStatus.WAITING, AlarmStatus.DISPATCHED)]
        tag = {"delivery_tag": str(uuid4())}
        with rig.broker_client() as client:
            for alarm_id in random.sample(alarms, min(SAME_TAG, len(alarms))):
                client.lpush(queue_lists()[0], rubbish.raw(alarm_id, properties=tag))

    def judge(self, rig: Rig, books: Books) -> None:
        entries, digests = rig.watch.rejected()
        missing = [kind for entry, kind in self.entries.items() if entry not in entries]
        missing += [kind for digest, kind in self.on_lists.items() if digest not in digests]
        if missing:
            self.amiss.append(f"{len(missing)} kinds are not among the rejected: {', '.join(missing[:20])}")
