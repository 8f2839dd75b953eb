"""All faults at random in one stream, for as long as wanted; the books at its end, and what it cost."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from sqlalchemy import select

from db.models import Alarm, WorkOrder
from tests.chaos.books import Books, audited
from tests.chaos.faults import ALL, Fault
from tests.chaos.memory import Memory
from tests.chaos.person import Person
from tests.chaos.rig import Rig, rigged
from tests.chaos.saying import say

WORKERS = 2
REST_SECONDS = (2.0, 15.0)


@dataclass
class Soak:
    """What came of it, also when it was broken off."""

    kind: str
    minutes: float
    rate: float
    seed: int
    strikes: dict[str, list[float]] = field(default_factory=dict)
    books: Books = field(default_factory=Books)
    latencies_seconds: list[float] = field(default_factory=list)
    amiss: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    memory: Memory | None = None
    moved: int = 0
    done: bool = False

    @property
    def held(self) -> bool:
        return self.done and self.books.balance and not self.amiss

    def run(self, folder: Path) -> None:
        random = Random(f"soak {self.seed}")
        with rigged(self.kind, folder, self.seed, self.rate) as rig:
            faults = [fault(short=False) for fault in ALL]
            rig.staff(WORKERS)
            rig.feeder.start()
            ends = time.monotonic() + self.minutes * 60
            with (
                Memory(lambda: [worker.pid for worker in rig.workers]) as self.memory,
                Person(rig.database, Random(f"person {self.seed}")) as person,
            ):
                while time.monotonic() < ends:
                    (fault,) = random.choices(faults, [one.soak_share for one in faults])
                    self._strike(rig, fault, random)
                    time.sleep(random.uniform(*REST_SECONDS))
            self.moved = person.moved
            self._close(rig, faults)

    def _strike(self, rig: Rig, fault: Fault, random: Random) -> None:
        rig.maker.source = fault.name
        try:
            rig.staff(WORKERS)
            found = list(fault.run(rig, random, fault.soak_times))
        except Exception as error:  # it goes on: what it has left behind is seen in the books
            self.amiss.append(f"{fault.name}: {type(error).__name__}: {error}")
            say(self.amiss[-1])
            return
        self.strikes.setdefault(fault.named, []).append(max(found))
        say(f"{fault.name}: {max(found):.1f} s")

    def _close(self, rig: Rig, faults: list[Fault]) -> None:
        """The books, when the line has come to rest."""
        rig.staff(WORKERS)
        with rig.feeder.held():
            try:
                rig.drain()
            except AssertionError as error:
                self.amiss.append(f"the line does not come to rest: {error}")
            with rig.database.reading() as session:
                self.books = audited(session, rig.feeder.confirmed)
                times = session.execute(
                    select(Alarm.occurred_at, WorkOrder.created_at).join(
                        WorkOrder, WorkOrder.id == Alarm.work_order_id
                    )
                ).all()
            self.latencies_seconds = sorted((made - occurred).total_seconds() for occurred, made in times)
            for fault in faults:
                if fault.named not in self.strikes:
                    continue
                fault.judge(rig, Books())
                self.amiss += [f"{fault.name}: {one}" for one in fault.amiss]
                self.notes += [f"{fault.name}: {one}" for one in fault.notes]
        self.done = True
