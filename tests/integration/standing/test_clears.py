"""A clear marks the standing alarm that it clears and makes no order, however early or late it comes."""

import pytest

from db.models.alarm import AlarmStatus
from db.session import Database
from tests.helpers.faults import (
    LEADS,
    alarm_row,
    attached,
    cleared,
    complete,
    fault,
    minutes,
    move,
    ordered,
    places,
    standing,
    stored,
    take_in,
    the_standing,
)
from tests.helpers.support import claimed, settled

both_ways = pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "in one batch"])


@both_ways
def test_a_clear_marks_the_fault_cleared_and_opens_none(database: Database, at_once: bool) -> None:
    alarm, clear, alone = fault("A1"), cleared("A1", 5), cleared("A2", 5)
    take_in(database, alarm, clear, alone, at_once=at_once)
    assert places(database, alarm, clear, alone) == [LEADS, stored(alarm), stored()]
    [row] = standing(database)
    assert (row.equipment, row.cleared_at, row.occurrences, row.last_at) == ("A1", minutes(5), 1, minutes(0))


@both_ways
def test_a_clear_that_overtakes_its_alarm_is_matched_when_that_comes(
    database: Database, at_once: bool
) -> None:
    clears = [cleared("A1", 5), cleared("A1", 7), cleared("A1", 2)]
    alarm = fault("A1", 3)
    take_in(database, *clears, alarm, at_once=at_once)
    assert places(database, *clears, alarm) == [stored(alarm), stored(alarm), stored(), LEADS]
    assert the_standing(database, "A1").cleared_at == minutes(7)


@pytest.mark.parametrize("clear_first", [True, False])
def test_an_alarm_that_comes_after_its_order_has_ended_is_cleared_by_the_clear_of_that_order(
    database: Database, clear_first: bool
) -> None:
    clear, alarm, late = cleared("A1", 5), fault("A1", 3), fault("A1", 4)
    take_in(database, *((clear, alarm) if clear_first else (alarm, clear)))
    complete(database, ordered(database, alarm))
    take_in(database, late)
    assert places(database, clear, late) == [stored(alarm), LEADS], "the clear stays where it was"
    assert the_standing(database, "A1").cleared_at == minutes(5)
    after = fault("A1", 6)
    take_in(database, after)
    assert the_standing(database, "A1").cleared_at is None
    complete(database, ordered(database, late))
    take_in(database, fault("A1", 4.5))
    assert the_standing(database, "A1").cleared_at is None, "what was raised after that clear still stands"


@both_ways
@pytest.mark.parametrize("first", ["the alarm", "the clear"])
def test_a_clear_of_the_moment_of_its_alarm_clears_it(database: Database, first: str, at_once: bool) -> None:
    alarm, clear = fault("A1", 5), cleared("A1", 5)
    take_in(database, *([alarm, clear] if first == "the alarm" else [clear, alarm]), at_once=at_once)
    assert places(database, alarm, clear) == [LEADS, stored(alarm)]
    assert the_standing(database, "A1").cleared_at == minutes(5)


@both_ways
def test_an_overtaking_clear_that_is_historical_clears_nothing(database: Database, at_once: bool) -> None:
    clear, alarm = cleared("A1", 5, historical=True), fault("A1", 3)
    take_in(database, clear, alarm, at_once=at_once)
    assert places(database, clear) == [stored()]
    assert the_standing(database, "A1").cleared_at is None


@both_ways
def test_a_fault_that_is_raised_again_after_its_clear_is_active(database: Database, at_once: bool) -> None:
    first, clear, again = fault("A1"), cleared("A1", 5), fault("A1", 6)
    take_in(database, first, clear, again, at_once=at_once)
    assert places(database, clear, again) == [stored(first), attached(first)]
    row = the_standing(database, "A1")
    assert (row.cleared_at, row.last_at, row.occurrences) == (None, minutes(6), 2)


@both_ways
@pytest.mark.parametrize("at", [4, 5], ids=["before the clear", "at its moment"])
def test_an_occurrence_that_comes_late_does_not_make_the_fault_active(
    database: Database, at: float, at_once: bool
) -> None:
    first, clear, late = fault("A1"), cleared("A1", 5), fault("A1", at)
    take_in(database, first, clear, late, at_once=at_once)
    assert places(database, late) == [attached(first)]
    row = the_standing(database, "A1")
    assert (row.cleared_at, row.occurrences, row.last_at) == (minutes(5), 2, minutes(at))


@both_ways
def test_a_clear_from_before_the_last_occurrence_clears_nothing(database: Database, at_once: bool) -> None:
    first, again, clear = fault("A1"), fault("A1", 6), cleared("A1", 5)
    take_in(database, first, again, clear, at_once=at_once)
    assert places(database, clear) == [stored()]
    assert the_standing(database, "A1").cleared_at is None


@both_ways
def test_of_several_clears_the_latest_counts_in_any_order(database: Database, at_once: bool) -> None:
    first, clears, between = fault("A1"), [cleared("A1", at) for at in (5, 9, 7)], fault("A1", 8)
    take_in(database, first, *clears, between, at_once=at_once)
    assert places(database, *clears) == [stored(first)] * 3
    assert the_standing(database, "A1").cleared_at == minutes(9)


def test_a_clear_does_not_stop_the_run_of_its_alarm(database: Database) -> None:
    alarm = fault("A1")
    take_in(database, alarm)
    row = alarm_row(database, alarm)
    attempt = claimed(database, row.id)
    take_in(database, cleared("A1", 5))
    assert alarm_row(database, alarm).status is AlarmStatus.RUNNING
    settled(database, row.id, attempt)
    assert the_standing(database, "A1").cleared_at == minutes(5)


def test_a_clear_of_a_fault_whose_order_has_ended_belongs_to_none(database: Database) -> None:
    alarm, clear = fault("A1"), cleared("A1", 5)
    take_in(database, alarm)
    move(database, ordered(database, alarm), "Cancelled")
    take_in(database, clear)
    assert places(database, clear) == [stored()]
    assert standing(database)[0].cleared_at is None
