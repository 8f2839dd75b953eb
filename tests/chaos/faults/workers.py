"""What happens to workers: killed, stopped in order, paused for longer than their lease."""

import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random

from tests.chaos.books import Books
from tests.chaos.faults.base import Fault
from tests.chaos.rig import WELL_SECONDS, Rig
from tests.chaos.workers import GRACE_SECONDS, LEASE_SECONDS
from tests.helpers.support import eventually

SLOW_SHARE = 0.08
"""Of a model's answers: so that some alarms cannot end within the grace time."""


class Kill(Fault):
    name = "kill"
    title = "`kill -9` of a worker in agents' runs"
    times = 50
    soak_share = 6
    within_seconds = LEASE_SECONDS + 10

    def strike(self, rig: Rig, random: Random) -> float:
        worker = random.choice(rig.workers)
        pid = worker.await_pid()
        rig.at_work(random)
        struck_at = datetime.now(UTC)
        worker.kill()
        return rig.taken_up(rig.watch.running(f":{pid}"), struck_at)


class Stop(Fault):
    name = "stop"
    title = "SIGTERM under load"
    times = 20
    soak_share = 4
    limit_seconds = GRACE_SECONDS + 5

    def __init__(self, short: bool) -> None:
        super().__init__(short)
        self.longest_seconds = 0.0

    def run(self, rig: Rig, random: Random, times: int) -> Iterator[float]:
        before, rig.model.slow_share = rig.model.slow_share, SLOW_SHARE
        try:
            yield from super().run(rig, random, times)
        finally:
            rig.model.slow_share = before

    def strike(self, rig: Rig, random: Random) -> float:
        worker = random.choice(rig.workers)
        worker.await_pid()
        rig.at_work(random)
        struck_at = datetime.now(UTC)
        took = worker.terminate(self.limit_seconds + 60)
        if took > self.limit_seconds and not self.short:
            self.amiss.append(f"a worker took {took:.1f} s to end")
        self.longest_seconds = max(self.longest_seconds, took)
        worker.start()
        return rig.consumes(struck_at)

    def judge(self, rig: Rig, books: Books) -> None:
        self.notes.append(f"a worker took {self.longest_seconds:.1f} s at most to end")
        self.notes.append(f"{rig.watch.given_back()} runs were broken off and given back")
        if books.failures:
            self.amiss.append(f"{books.failures} attempts counted as failures")


class Pause(Fault):
    """The holder comes back while another worker runs its alarms, or has settled them."""

    name = "pause"
    title = "a holder that outlives its lease (paused, then continued)"
    times = 10
    soak_share = 3
    workers = 2

    def __init__(self, short: bool) -> None:
        super().__init__(short)
        self.fenced = 0

    def judge(self, rig: Rig, books: Books) -> None:
        self.notes.append(f"{self.fenced} holders came back and were fenced out")

    def strike(self, rig: Rig, random: Random) -> float:
        worker = rig.worker
        pid = worker.await_pid()
        eventually(lambda: rig.watch.running(f":{pid}"), WELL_SECONDS, 0.01)
        struck_at = datetime.now(UTC)
        worker.pause()
        try:
            held = rig.watch.running(f":{pid}")
            # Not for ever: on SQLite it may have stopped in the middle of writing, and nobody else can write.
            with contextlib.suppress(AssertionError):
                eventually(lambda: len(rig.watch.started_after(held)) == len(held), LEASE_SECONDS + 5)
            time.sleep(random.uniform(0, 2))
        finally:
            worker.go_on()
        seconds = rig.taken_up(held, struck_at)
        rig.consumes(datetime.now(UTC))
        outlasted = len(held.keys() - rig.watch.settled_by(held))
        fenced = rig.watch.lapsed(held)
        self.fenced += fenced
        if fenced < outlasted:
            self.amiss.append(f"{outlasted} leases were outlasted, {fenced} holders fenced out")
        return seconds
