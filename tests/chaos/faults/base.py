"""What each fault is: how often it strikes, how, and what is wanted afterwards."""

from collections.abc import Iterator
from random import Random
from typing import ClassVar

from tests.chaos.books import Books
from tests.chaos.rig import Rig


class Fault:
    """Made once a run. `short` is for the tests: outages of seconds, and only a few strikes."""

    name: ClassVar[str]
    title: ClassVar[str]  # {seconds} stands for those of an outage
    times: ClassVar[int]
    short_times: ClassVar[int] = 1
    soak_times: ClassVar[int] = 1  # each time it is drawn
    soak_share: ClassVar[int] = 2  # how often it is drawn, to the others
    seconds: ClassVar[tuple[int, int]] = (0, 0)  # of an outage, in the long and in the short form
    unit: ClassVar[str] = ""  # of `times`, where it is not strikes
    within_seconds: ClassVar[float | None] = None  # each time, in the long form
    workers: ClassVar[int] = 1

    def __init__(self, short: bool) -> None:
        self.short = short
        self.outage_seconds = self.seconds[short]
        self.amiss: list[str] = []  # targets that were missed
        self.notes: list[str] = []  # what else is worth telling

    @property
    def named(self) -> str:
        """The title as it is shown."""
        return self.title.format(seconds=self.outage_seconds)

    def run(self, rig: Rig, random: Random, times: int) -> Iterator[float]:
        """Strikes; after each, the seconds until the line had recovered. Fails when it does not."""
        for _ in range(times):
            yield self.strike(rig, random)

    def strike(self, rig: Rig, random: Random) -> float:
        raise NotImplementedError

    def judge(self, rig: Rig, books: Books) -> None:
        """Its own targets, when the line is drained; what is missed goes into `amiss`."""
