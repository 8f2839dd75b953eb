"""The alarm simulator: a plant of five lines whose machines fail the way machines do."""

import heapq
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count as counting
from itertools import islice
from random import Random
from typing import Literal, NamedTuple, TypeVar
from uuid import UUID, uuid5

from producers.events import AlarmEvent

SOURCE = "simulator"

_NAMESPACE = UUID("5f0c8b1e-0d5a-4c0e-9a52-8b8f6a1d7e40")
_BATCH = 500


@dataclass(frozen=True)
class Machine:
    name: str
    equipment_class: str


@dataclass(frozen=True)
class Line:
    name: str
    machines: tuple[Machine, ...]


@dataclass(frozen=True)
class Fault:
    code: str
    message: str
    severity: int


LINES = (
    Line("交互屏组装A线", (Machine("交互屏贴合机A1", "贴合机"),)),
    Line("交互屏组装B线", (Machine("交互屏贴合机B1", "贴合机"), Machine("螺丝机B2", "锁螺丝机"))),
    Line("整机老化C线", (Machine("老化架C1", "老化架"), Machine("老化电源C2", "程控电源"))),
    Line("SMT Line 1", (Machine("Placer P1", "Placer"), Machine("Reflow Oven R1", "Reflow oven"))),
    Line(
        "Packing Line 2",
        (Machine("Palletizer K1", "Palletizing robot"), Machine("Case Sealer K2", "Case sealer")),
    ),
)

# By equipment class: the same code may mean something else on another class of machine.
CODES: dict[str, tuple[Fault, ...]] = {
    "贴合机": (
        Fault("E401", "触摸屏通讯中断", 700),
        Fault("E402", "真空度不足", 550),
        Fault("E403", "对位相机超时", 450),
        Fault("E101", "急停按下", 1000),
    ),
    "锁螺丝机": (
        Fault("S201", "扭矩超限", 600),
        Fault("S202", "供钉卡料", 300),
        Fault("E101", "急停按下", 1000),
    ),
    "老化架": (Fault("T301", "温度过高", 900), Fault("T302", "风扇停转", 650)),
    "程控电源": (Fault("P501", "输出过压", 950), Fault("P502", "通讯超时", 400)),
    "Placer": (
        Fault("F210", "Feeder empty", 100),
        Fault("F211", "Nozzle clogged", 350),
        Fault("E210", "Vacuum low", 500),
    ),
    "Reflow oven": (
        Fault("R310", "Zone temperature deviation", 750),
        Fault("R311", "Conveyor stopped", 800),
        Fault("E210", "Exhaust fan fault", 850),
    ),
    "Palletizing robot": (
        Fault("K601", "Gripper pressure low", 500),
        Fault("K602", "Collision detected", 950),
        Fault("E300", "Safety gate open", 900),
    ),
    "Case sealer": (
        Fault("K701", "Tape out", 150),
        Fault("K702", "Heater fault", 600),
        Fault("E300", "Guard door open", 850),
    ),
}


class _Signal(NamedTuple):
    """One change of a machine's state, `at_ms` after the start; `order` settles a tie."""

    at_ms: int
    order: int
    line: Line
    machine: Machine
    fault: Fault
    state: Literal["active", "cleared"]


def simulate(count: int, seed: int, start: datetime) -> Iterator[AlarmEvent]:
    """`count` events from `start` on, in the order of their time; seed and start alone decide what they are.

    Faults come singly, chatter (the same fault again within seconds, as a new event), or come in bursts over
    the machines of a line; a part of them is cleared later. The first is E401 on 交互屏组装A线.
    """
    if start.utcoffset() is None:
        raise ValueError("start wants its offset from UTC")
    start = start.astimezone(UTC)
    for number, signal in enumerate(islice(_signals(seed), count)):
        yield AlarmEvent(
            event_id=str(uuid5(_NAMESPACE, f"{seed} {start.isoformat()} {number}")),
            source=SOURCE,
            line_name=signal.line.name,
            equipment=signal.machine.name,
            equipment_class=signal.machine.equipment_class,
            fault_code=signal.fault.code,
            severity=signal.fault.severity,
            state=signal.state,
            message=signal.fault.message,
            occurred_at=start + timedelta(milliseconds=signal.at_ms),
            attributes={"simulated": True},
        )


def duration(count: int, seed: int) -> timedelta:
    """The time from the first to the last of `count` simulated events."""
    last_ms = 0
    for signal in islice(_signals(seed), count):
        last_ms = signal.at_ms
    return timedelta(milliseconds=last_ms)


def paced(events: Iterable[AlarmEvent], rate: float) -> Iterator[list[AlarmEvent]]:
    """Batches of events, each handed out when its events are due at `rate` a second; rate 0: all are due."""
    remaining = iter(events)
    began, given = time.monotonic(), 0
    upcoming = next(remaining, None)
    while upcoming is not None:
        elapsed = time.monotonic() - began
        due = min(_BATCH, elapsed * rate - given + 1) if rate else _BATCH
        if due < 1:
            time.sleep(min(1.0, given / rate - elapsed))
            continue
        batch = [upcoming, *islice(remaining, int(due) - 1)]
        given += len(batch)
        yield batch
        upcoming = next(remaining, None)


def _signals(seed: int) -> Iterator[_Signal]:
    """Endless, in the order of time."""
    random = Random(f"andon {seed}")  # an int would make -1 the same as 1
    order = counting()
    waiting: list[_Signal] = []
    at_ms = 0
    line = LINES[0]
    machine = line.machines[0]
    fault = CODES[machine.equipment_class][0]
    while True:
        for signal in _incident(random, order, at_ms, line, machine, fault):
            heapq.heappush(waiting, signal)
        at_ms += _between(random, 1_000, 30_000)
        while waiting and waiting[0].at_ms < at_ms:
            yield heapq.heappop(waiting)
        line, machine, fault = _drawn(random, LINES)


def _incident(
    random: Random, order: Iterator[int], at_ms: int, line: Line, machine: Machine, fault: Fault
) -> Iterator[_Signal]:
    yield _Signal(at_ms, next(order), line, machine, fault, "active")
    kind = random.random()
    last_ms = at_ms
    if kind < 0.2:  # a loose contact: the same fault comes and goes
        for _ in range(_between(random, 1, 4)):
            last_ms += _between(random, 2_000, 9_000)
            yield _Signal(last_ms, next(order), line, machine, fault, "active")
    elif kind < 0.35:  # one cause, and all along the line something trips over it
        for _ in range(_between(random, 2, 5)):
            last_ms += _between(random, 50, 900)
            _, other_machine, other_fault = _drawn(random, (line,))
            yield _Signal(last_ms, next(order), line, other_machine, other_fault, "active")
    if random.random() < 0.4:
        last_ms += _between(random, 10_000, 120_000)
        yield _Signal(last_ms, next(order), line, machine, fault, "cleared")


def _drawn(random: Random, lines: Sequence[Line]) -> tuple[Line, Machine, Fault]:
    line = _one_of(random, lines)
    machine = _one_of(random, line.machines)
    return line, machine, _one_of(random, CODES[machine.equipment_class])


T = TypeVar("T")


# Python promises to repeat random() for a seed in every version, and nothing else of Random.
def _one_of(random: Random, choices: Sequence[T]) -> T:
    return choices[int(random.random() * len(choices))]


def _between(random: Random, low: int, high: int) -> int:
    return low + int(random.random() * (high - low + 1))
