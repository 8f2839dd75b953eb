"""The simulator: the same seed and start make the same alarms, and they look like a plant's."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import pytest

from producers import simulator
from producers.events import AlarmEvent
from producers.simulator import CODES, LINES, duration, paced, simulate

START = datetime(2026, 8, 4, 2, 30, tzinfo=UTC)
ROOT = Path(__file__).parents[3]


def drawn(count: int = 300, seed: int = 1, start: datetime = START) -> list[AlarmEvent]:
    return list(simulate(count, seed, start))


def machine(event: AlarmEvent) -> tuple[str, str, str, str]:
    return event.line_name, event.equipment, event.equipment_class, event.fault_code


@pytest.mark.parametrize("seed", [-1, 0, 1, 2, 10**30])
def test_the_first_is_e401_on_a_line_without_a_roster(seed: int) -> None:
    (event,) = drawn(1, seed)
    assert machine(event) == ("交互屏组装A线", "交互屏贴合机A1", "贴合机", "E401")
    assert (event.severity, event.state, event.source) == (700, "active", "simulator")
    assert event.occurred_at == START


def test_seed_and_start_alone_decide() -> None:
    assert drawn() == drawn()
    assert drawn(100) == drawn()[:100], "a longer simulation begins like a shorter one"
    elsewhere = START.astimezone(timezone(timedelta(hours=8)))
    assert drawn(start=elsewhere) == drawn(), "an offset does not make it another start"


def test_another_process_draws_the_same() -> None:
    program = (
        "import sys; from datetime import datetime; from producers.simulator import simulate\n"
        f"for event in simulate(50, 7, datetime.fromisoformat('{START.isoformat()}')): print(event.digest())"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == [event.digest() for event in drawn(50, 7)]


@pytest.mark.parametrize(("seed", "start"), [(2, START), (-1, START), (1, START + timedelta(seconds=1))])
def test_another_seed_or_start_makes_other_events(seed: int, start: datetime) -> None:
    assert not {event.event_id for event in drawn()} & {event.event_id for event in drawn(300, seed, start)}


def test_another_seed_draws_other_faults() -> None:
    assert [machine(event) for event in drawn(50, 1)] != [machine(event) for event in drawn(50, -1)]


def test_every_event_has_an_id_of_its_own() -> None:
    assert len({event.event_id for event in drawn(3000)}) == 3000


@pytest.mark.parametrize("seed", range(5))
def test_it_draws_from_all_the_lines_machines_and_codes_and_from_nothing_else(seed: int) -> None:
    known = {
        (line.name, each.name, each.equipment_class, fault.code): (fault.message, fault.severity)
        for line in LINES
        for each in line.machines
        for fault in CODES[each.equipment_class]
    }
    events = drawn(2000, seed)
    assert {machine(event) for event in events} == set(known)
    for event in events:
        assert known[machine(event)] == (event.message, event.severity)


@pytest.mark.parametrize("seed", range(5))
def test_a_few_dozen_are_enough_to_see_several_lines_repeats_bursts_and_clears(seed: int) -> None:
    events = drawn(60, seed)
    assert len({event.line_name for event in events}) >= 4
    assert len({event.fault_code for event in events}) >= 8
    assert any(event.state == "cleared" for event in events)
    assert repeats(events)
    assert bursts(events)


def repeats(events: list[AlarmEvent]) -> list[AlarmEvent]:
    """Events that say once more what the line said last, 2 to 9 seconds before."""
    last: dict[str, AlarmEvent] = {}
    found = []
    for event in events:
        before = last.get(event.line_name)
        if (
            before
            and (machine(before), before.state) == (machine(event), "active")
            and event.state == "active"
            and timedelta(seconds=2) <= event.occurred_at - before.occurred_at <= timedelta(seconds=9)
        ):
            found.append(event)
        last[event.line_name] = event
    return found


def bursts(events: list[AlarmEvent]) -> list[AlarmEvent]:
    """Events that follow others of their line twice within a second each."""
    return [
        third
        for first, second, third in zip(events, events[1:], events[2:], strict=False)
        if first.line_name == second.line_name == third.line_name
        and second.occurred_at - first.occurred_at < timedelta(seconds=1)
        and third.occurred_at - second.occurred_at < timedelta(seconds=1)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_most_alarms_are_active_and_what_is_cleared_was_active_before(seed: int) -> None:
    seen: set[tuple[str, str, str, str]] = set()
    events = drawn(1000, seed)
    for event in events:
        if event.state == "active":
            seen.add(machine(event))
        else:
            assert machine(event) in seen
    assert 50 < Counter(event.state for event in events)["cleared"] < 350


@pytest.mark.parametrize("seed", range(5))
def test_a_good_part_of_the_alarms_are_repeats_and_bursts(seed: int) -> None:
    events = drawn(1000, seed)
    assert 50 < len(repeats(events)) < 350
    assert 50 < len(bursts(events)) < 350


def test_time_only_goes_forward_and_the_duration_is_known_beforehand() -> None:
    events = drawn(1000)
    assert all(earlier.occurred_at <= later.occurred_at for earlier, later in pairwise(events))
    assert START + duration(1000, 1) == events[-1].occurred_at
    assert duration(1, 1) == duration(0, 1) == timedelta(0)


def test_no_event_is_drawn_when_none_is_wanted() -> None:
    assert drawn(0) == []


def test_a_naive_start_is_refused() -> None:
    with pytest.raises(ValueError, match="offset"):
        drawn(1, start=datetime(2026, 8, 4))  # noqa: DTZ001


def test_codes_that_classes_share_mean_different_classes_and_severities_spread_from_100_to_1000() -> None:
    pairs = [(kind, fault.code) for kind, faults in CODES.items() for fault in faults]
    assert (len(set(pairs)), len(pairs)) == (23, 23)
    codes = Counter(code for _, code in pairs)
    assert {code for code, classes in codes.items() if classes == 2} == {"E101", "E210", "E300"}
    assert len(codes) == 20
    severities = {fault.severity for faults in CODES.values() for fault in faults}
    assert (min(severities), max(severities)) == (100, 1000)
    assert {each.equipment_class for line in LINES for each in line.machines} == set(CODES)


class Clock:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert 0 <= seconds <= 1
        self.now += seconds + 1e-6


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(simulator, "time", clock)
    return clock


def flat(batches: Iterable[list[AlarmEvent]]) -> list[AlarmEvent]:
    return [event for batch in batches for event in batch]


def test_at_rate_0_all_are_due_at_once_in_batches(clock: Clock) -> None:
    events = drawn(1203)
    batches = list(paced(iter(events), 0))
    assert [len(batch) for batch in batches] == [500, 500, 203]
    assert flat(batches) == events
    assert clock.now == 100.0


@pytest.mark.parametrize(("rate", "count"), [(0.25, 4), (2, 10), (50, 200), (1e-300, 1), (1e308, 1000)])
def test_at_a_rate_each_event_waits_until_it_is_due(clock: Clock, rate: float, count: int) -> None:
    events = drawn(count)
    handed: list[AlarmEvent] = []
    for batch in paced(iter(events), rate):
        handed += batch
        assert len(handed) <= (clock.now - 100.0) * rate + 1
    assert handed == events
    assert clock.now - 100.0 == pytest.approx((count - 1) / rate, abs=0.01), "and no longer"


def test_a_slow_taker_is_given_what_became_due_meanwhile(clock: Clock) -> None:
    sizes = []
    for batch in paced(iter(drawn(100)), 10):
        sizes.append(len(batch))
        clock.now += 2
    assert sizes[:3] == [1, 20, 20]
    assert sum(sizes) == 100
