"""What producers do to the line: the same events from several at once, and more than it can follow."""

import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from random import Random

from producers.events import AlarmEvent
from tests.chaos.books import Books
from tests.chaos.faults.base import Fault
from tests.chaos.feeder import Identity
from tests.chaos.rig import Rig

PRODUCERS = 3
EVENTS_A_FAULT = 5
_MIB = 1024 * 1024


class OneOrderAFault(Fault):
    """Sends many events of few faults; each fault must have one order, and the other events be part of it."""

    def __init__(self, short: bool) -> None:
        super().__init__(short)
        self.sent: dict[Identity, AlarmEvent] = {}
        self.faults = 0

    def made(self, rig: Rig, random: Random, events: int, faults: int) -> list[AlarmEvent]:
        """In random order, so that none of them is the first of its fault by its time."""
        now = datetime.now(UTC)
        first = [rig.maker.new(now) for _ in range(faults)]
        found = [*first, *(rig.maker.again(first[n % faults], now) for n in range(events - faults))]
        random.shuffle(found)
        self.sent |= {(event.source, event.event_id): event for event in found}
        self.faults += faults
        return found

    def judge(self, rig: Rig, books: Books) -> None:
        orders = rig.watch.orders_of(self.sent)
        if orders != self.faults:
            self.amiss.append(f"{orders} orders of {self.faults} faults")


class Thrice(OneOrderAFault):
    name = "thrice"
    title = "each event sent 3 times, by 3 producers at once"
    times = 500
    short_times = 60
    soak_times = 100
    unit = "events"
    workers = 2  # so that two of them take the same events in

    def run(self, rig: Rig, random: Random, times: int) -> Iterator[float]:
        events = self.made(rig, random, times, math.ceil(times / EVENTS_A_FAULT))
        producers = [_producer(rig, random.sample(events, len(events))) for _ in range(PRODUCERS)]
        for producer in producers:
            _out, said = producer.communicate(timeout=60)
            assert producer.returncode == 0, said
        rig.feeder.confirmed |= self.sent
        yield rig.consumes(datetime.now(UTC))


def _producer(rig: Rig, events: Sequence[AlarmEvent]) -> subprocess.Popen[str]:
    """`alarm-producer replay -` with these events, begun."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-m", "producers.cli", "replay", "-"],
        env=rig.environment,
        stdin=pipe,
        stdout=subprocess.DEVNULL,
        stderr=pipe,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.writelines(f"{event.to_json()}\n" for event in events)
    process.stdin.close()
    process.stdin = None
    return process


class Flood(OneOrderAFault):
    name = "flood"
    title = "flood over 40 faults, 10,000 alarms a minute"
    times = 10_000
    short_times = 400
    soak_times = 1000
    soak_share = 1
    unit = "alarms"
    faults_at_once = 40
    a_second = 10_000 / 60
    most_bytes = 50 * _MIB

    def __init__(self, short: bool) -> None:
        super().__init__(short)
        self.grown_bytes = 0

    def run(self, rig: Rig, random: Random, times: int) -> Iterator[float]:
        with rig.feeder.held():
            rig.consumes(datetime.now(UTC))
            before = most = rig.worker.rss_bytes()
            events = self.made(rig, random, times, self.faults_at_once)
            began, sent = time.monotonic(), 0
            while sent < len(events):
                due = int((time.monotonic() - began) * self.a_second) + 1
                rig.feeder.push(*events[sent:due])
                sent = max(sent, due)
                most = max(most, rig.worker.rss_bytes())
                time.sleep(0.05)
            yield rig.consumes(datetime.now(UTC))
            rig.drain()
            most = max(most, rig.worker.rss_bytes())
        self.grown_bytes = most - before

    def judge(self, rig: Rig, books: Books) -> None:
        super().judge(rig, books)
        self.notes.append(f"the worker's memory grew by {self.grown_bytes / _MIB:.0f} MiB")
        if self.grown_bytes > self.most_bytes:
            self.amiss.append(f"the worker's memory grew by more than {self.most_bytes / _MIB:.0f} MiB")
