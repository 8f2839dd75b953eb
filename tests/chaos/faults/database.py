"""The database goes away under the running line, and comes back with what was committed."""

import time
from datetime import UTC, datetime
from random import Random

from tests.chaos.faults.base import Fault
from tests.chaos.rig import Rig


class DatabaseAway(Fault):
    name = "database"
    title = "database away for {seconds} s (SQLite: exclusively locked)"
    seconds = (20, 3)
    times = 10

    def strike(self, rig: Rig, random: Random) -> float:
        rig.at_work(random)
        with rig.store.away(random):
            time.sleep(self.outage_seconds)
        return rig.consumes(datetime.now(UTC))
