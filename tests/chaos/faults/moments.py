"""A worker killed at the two moments at which an alarm's row stands and nobody works on it yet."""

import time
from collections import Counter
from datetime import UTC, datetime
from random import Random

from db.models.alarm import AlarmStatus
from tests.chaos.books import Books
from tests.chaos.faults.base import Fault
from tests.chaos.rig import BURST, WELL_SECONDS, Rig
from tests.helpers.support import eventually

ENOUGH = 5
"""Strikes among which each of the two moments must have been caught."""
AHEAD = 900
"""Their severity: how long they lie is measured, not behind how many."""
MOMENTS = (AlarmStatus.WAITING, AlarmStatus.DISPATCHED)


class Between(Fault):
    name = "between"
    title = "worker killed between commit and dispatch, and between dispatch and claim"
    times = 20
    within_seconds = 30

    def __init__(self, short: bool) -> None:
        super().__init__(short)
        self.strikes = 0
        self.struck: Counter[AlarmStatus] = Counter()

    def strike(self, rig: Rig, random: Random) -> float:
        worker = random.choice(rig.workers)
        worker.await_pid()
        wanted = random.choice(MOMENTS)
        with rig.feeder.held():
            # What the last strike left is worked off: how long alarms lie is measured, not behind how many.
            eventually(lambda: not rig.watch.attempts(*MOMENTS), WELL_SECONDS, 0.05)
            burst = (rig.maker.new(datetime.now(UTC), severity=AHEAD) for _ in range(BURST))
            rig.feeder.push(*burst)
            eventually(lambda: rig.watch.attempts(wanted), WELL_SECONDS, 0.005)
            time.sleep(random.choice((0, random.uniform(0, 1))))
            struck_at = datetime.now(UTC)
            worker.kill()
            caught = {status: rig.watch.attempts(status) for status in MOMENTS}
        self.strikes += 1
        self.struck.update({status: len(alarms) for status, alarms in caught.items()})
        if self.short:
            return rig.consumes(struck_at)
        return rig.taken_up(caught[AlarmStatus.WAITING] | caught[AlarmStatus.DISPATCHED], struck_at)

    def judge(self, rig: Rig, books: Books) -> None:
        for status in MOMENTS:
            self.notes.append(f"{self.struck[status]} alarms were {status} when their worker was killed")
            if not self.struck[status] and self.strikes >= ENOUGH:
                self.amiss.append(f"no alarm was {status} when the worker was killed")
