"""The faults one after the other in one running stream, each with its row of the table."""

import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.chaos.books import Books, audited
from tests.chaos.faults import Fault
from tests.chaos.report import Row
from tests.chaos.rig import Rig, rigged
from tests.chaos.saying import say


class Suite:
    """Keeps its rows also when it is broken off."""

    def __init__(
        self, faults: Sequence[type[Fault]], times: int | None, short: bool, seed: int, rate: float
    ) -> None:
        self.rows: list[Row] = []
        self._faults, self._times, self._short = faults, times, short
        self._seed, self._rate = seed, rate
        self._known: set[str] = set()

    def run(self, kind: str, folder: Path) -> None:
        """All of the faults on a database of this kind.

        The short form saves time: the books are closed once, at its end, and workers only come, never go.
        """
        random = Random(f"faults {self._seed}")
        with rigged(kind, folder, self._seed, self._rate) as rig:
            rig.staff(1)
            rig.feeder.start()
            faults = sorted(self._faults, key=lambda fault: fault.workers if self._short else 0)
            struck = [self._strike(rig, fault(self._short), random, kind) for fault in faults]
            if self._short:
                _judge(rig, self._known, *struck)

    def _strike(self, rig: Rig, fault: Fault, random: Random, kind: str) -> tuple[Fault, Row]:
        times = fault.short_times if self._short else fault.times
        if self._times and not fault.unit:
            times = self._times
        row = Row(fault.name, fault.named, kind, times, fault.unit)
        self.rows.append(row)
        began = time.monotonic()
        rig.maker.source = fault.name
        try:
            rig.staff(fault.workers, at_least=self._short)
            for seconds in fault.run(rig, random, times):
                row.seconds_to_recover.append(round(seconds, 2))
                say(f"{kind}: {fault.name} {len(row.seconds_to_recover)} of {times}: {seconds:.1f} s")
                if fault.within_seconds and seconds > fault.within_seconds and not self._short:
                    row.amiss.append(f"took {seconds:.1f} s to recover")
        except Exception:  # the next fault is struck all the same
            row.amiss.append(traceback.format_exc(limit=-4))
        if not self._short:
            _judge(rig, self._known, (fault, row))
        row.took_seconds = round(time.monotonic() - began, 1)
        return fault, row


def _judge(rig: Rig, known: set[str], *struck: tuple[Fault, Row]) -> None:
    """The books of each, when the line has come to rest."""
    with rig.feeder.held():
        try:
            rig.drain()
        except AssertionError as error:
            struck[-1][1].amiss.append(f"the line does not come to rest: {error}")
        for fault, row in struck:
            with rig.database.reading() as session:
                row.books = _new(audited(session, rig.feeder.confirmed, fault.name), known)
            fault.judge(rig, row.books)
            row.amiss += fault.amiss
            row.notes += fault.notes
            row.done = True
            say(f"{row.database}: {fault.name}: {'held' if row.held else 'NOT held'}")
            for remark in [*row.remarks(), *row.troubles()]:
                say(remark)


def _new(books: Books, known: set[str]) -> Books:
    """Without what an earlier fault has to answer for."""
    books.doubled = [one for one in books.doubled if one not in known]
    books.amiss = [one for one in books.amiss if one not in known]
    known.update(books.doubled, books.amiss)
    return books
