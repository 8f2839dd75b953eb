"""The alarms of the running stream: new faults, repeats of open ones, and clears."""

import itertools
import threading
from datetime import datetime
from random import Random

from producers.events import AlarmEvent
from producers.simulator import CODES, LINES

REPEATS, CLEARS = 0.25, 0.1
"""Of all events, once there is a fault to repeat or to clear."""
PROBE_SEVERITY = 1000
"""Served before all others: what is measured with it is the line, not its backlog."""


class Maker:
    """Makes events under the name of the fault that is being tried, each of an identity of its own."""

    def __init__(self, random: Random) -> None:
        self.source = "start"
        self._random = random
        self._numbers = itertools.count(1)
        self._made: list[AlarmEvent] = []
        self._lock = threading.Lock()  # of the draw: the feeder and the faults both ask

    def any(self, occurred_at: datetime) -> AlarmEvent:
        """The next of the stream."""
        with self._lock:
            drawn = self._random.random()
            if self._made and drawn < REPEATS + CLEARS:
                earlier = self._random.choice(self._made)
                return self._again(earlier, occurred_at, "active" if drawn < REPEATS else "cleared")
            event = self._new(occurred_at)
            self._made.append(event)
            return event

    def new(self, occurred_at: datetime, severity: int | None = None) -> AlarmEvent:
        """A fault that was never there before, and is not repeated by the stream."""
        with self._lock:
            event = self._new(occurred_at)
        return event if severity is None else event.model_copy(update={"severity": severity})

    def again(self, earlier: AlarmEvent, occurred_at: datetime) -> AlarmEvent:
        """The same fault once more."""
        return self._again(earlier, occurred_at, "active")

    def _new(self, occurred_at: datetime) -> AlarmEvent:
        line = self._random.choice(LINES)
        machine = self._random.choice(line.machines)
        fault = self._random.choice(CODES[machine.equipment_class])
        number = next(self._numbers)
        return AlarmEvent(
            event_id=f"{number:06}",
            source=self.source,
            line_name=line.name,
            equipment=f"{machine.name} #{number}",  # so that its fingerprint is its own
            equipment_class=machine.equipment_class,
            fault_code=fault.code,
            severity=fault.severity,
            message=fault.message,
            occurred_at=occurred_at,
        )

    def _again(self, earlier: AlarmEvent, occurred_at: datetime, state: str) -> AlarmEvent:
        own = {"event_id": f"{next(self._numbers):06}", "source": self.source, "state": state}
        return earlier.model_copy(update=own | {"occurred_at": occurred_at})
