"""What happens to the broker: killed, cut off, frozen, emptied."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import ClassVar

from tests.chaos.books import Books
from tests.chaos.faults.base import Fault
from tests.chaos.rig import BURST, WELL_SECONDS, Rig
from tests.helpers.support import eventually

CALL_SECONDS = 10
"""More than a producer's time to connect and its time for an answer together."""


class BrokerFault(Fault):
    """The workers' processes must outlive it: a supervisor's help is not what is tested."""

    within_seconds: ClassVar[float | None] = 15

    def outlived(self, rig: Rig, strike: Callable[[], None]) -> float:
        """The seconds to recover after `strike` has returned."""
        pids = [worker.await_pid() for worker in rig.workers]
        strike()
        seconds = rig.consumes(datetime.now(UTC))
        for worker, pid in zip(rig.workers, pids, strict=True):
            if worker.pid != pid:
                self.amiss.append(f"a worker ended: {worker.said(500)}")
        return seconds


class BrokerKill(BrokerFault):
    name = "broker-kill"
    title = "broker killed and started, outages up to {seconds} s, tasks in flight"
    seconds = (10, 2)
    times = 20
    soak_share = 4

    def strike(self, rig: Rig, random: Random) -> float:
        def kill_and_start() -> None:
            rig.at_work(random)
            rig.broker.kill()
            time.sleep(random.uniform(0, self.outage_seconds))
            rig.broker.start()

        return self.outlived(rig, kill_and_start)


class Cut(BrokerFault):
    name = "cut"
    title = "every client connection cut (`CLIENT KILL`) with tasks in flight"
    times = 20
    soak_share = 4

    def strike(self, rig: Rig, random: Random) -> float:
        def cut() -> None:
            rig.at_work(random)
            with rig.broker_client() as client:
                for kind in ("pubsub", "normal"):
                    client.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")

        return self.outlived(rig, cut)


class Freeze(BrokerFault):
    name = "freeze"
    title = "broker frozen for {seconds} s (SIGSTOP)"
    seconds = (70, 7)
    times = 3
    soak_share = 1

    def strike(self, rig: Rig, random: Random) -> float:
        def freeze() -> None:
            rig.at_work(random)
            ends = time.monotonic() + self.outage_seconds
            rig.broker.freeze()
            try:
                limit = WELL_SECONDS if self.short else self.outage_seconds - 10
                eventually(lambda: not rig.watch.running(), limit)
                time.sleep(max(0.0, ends - time.monotonic()))
            finally:
                rig.broker.thaw()

        return self.outlived(rig, freeze)

    def judge(self, rig: Rig, books: Books) -> None:
        longest = rig.feeder.longest_call_seconds
        self.notes.append(f"a producer waited {longest:.1f} s at most for the broker")
        if longest > CALL_SECONDS and not self.short:
            self.amiss.append(f"a producer waited for more than {CALL_SECONDS} s")


class Empty(BrokerFault):
    """With tasks on Celery's list, which are gone then."""

    name = "empty"
    title = "broker started again empty, the stream drained before"
    times = 5
    within_seconds = None

    def __init__(self, short: bool) -> None:
        super().__init__(short)
        self.tasks = 0

    def judge(self, rig: Rig, books: Books) -> None:
        self.notes.append(f"{self.tasks} tasks were on their list when the broker was emptied")

    def strike(self, rig: Rig, random: Random) -> float:
        def empty() -> None:
            with rig.feeder.held():
                rig.feeder.push(*(rig.maker.new(datetime.now(UTC)) for _ in range(BURST)))
                eventually(lambda: rig.backlog() == 0 and rig.tasks_listed() > 0, WELL_SECONDS, 0.01)
                self.tasks += rig.tasks_listed()
                rig.broker.kill()
                rig.broker.empty()
                rig.broker.start()

        return self.outlived(rig, empty)
