"""With an order that is taken up again its faults stand again, unless another order has taken them over."""

from typing import Any

import pytest

from db.errors import FaultHeld
from db.models.standing import StandingStatus
from db.queries.orders.transitions import set_status
from db.session import Database
from tests.helpers.faults import (
    attached,
    cleared,
    complete,
    fault,
    minutes,
    move,
    order_row,
    ordered,
    places,
    standing,
    stored,
    take_in,
    the_standing,
)
from tests.helpers.support import NOW


def test_an_order_that_is_taken_up_again_holds_its_fault_again(database: Database) -> None:
    first, again = fault("A1"), fault("A1", 9)
    take_in(database, first, fault("A1", 1))
    order_id = ordered(database, first)
    complete(database, order_id, now=minutes(5))
    move(database, order_id, "Running", now=minutes(7))
    row = the_standing(database, "A1")
    assert (row.occurrences, row.closed_at, row.opened_at) == (2, None, NOW)
    take_in(database, again)
    assert places(database, again) == [attached(first)]
    assert the_standing(database, "A1").occurrences == 3
    move(database, order_id, "Completed", now=minutes(11))
    [row] = standing(database, "A1")
    assert (row.status, row.closed_at) == (StandingStatus.CLOSED, minutes(11))


@pytest.mark.parametrize("event", [{"at": 4}, {"at": 8, "historical": True}])
def test_a_clear_that_is_older_or_historical_does_not_clear_what_is_taken_up_again(
    database: Database, event: dict[str, Any]
) -> None:
    first = fault("A1", 5)
    take_in(database, first)
    order_id = ordered(database, first)
    complete(database, order_id)
    take_in(database, cleared("A1", **event))
    move(database, order_id, "Running")
    assert the_standing(database, "A1").cleared_at is None


def test_a_clear_that_came_while_the_order_was_ended_counts_when_it_is_taken_up_again(
    database: Database,
) -> None:
    first, clears = fault("A1", 5), [cleared("A1", 8), cleared("A1", 9)]
    take_in(database, first)
    order_id = ordered(database, first)
    complete(database, order_id)
    take_in(database, *clears)
    assert places(database, *clears) == [stored()] * 2
    move(database, order_id, "Running")
    assert places(database, *clears) == [stored(first)] * 2
    assert the_standing(database, "A1").cleared_at == minutes(9)


def test_a_clear_that_a_newer_alarm_has_undone_does_not_count(database: Database) -> None:
    first, second = fault("A1", 10), fault("A1", 20)
    take_in(database, first)
    order_id = ordered(database, first)
    complete(database, order_id)
    take_in(database, second, cleared("A1", 30), fault("A1", 40))
    complete(database, ordered(database, second))
    move(database, order_id, "Running")
    assert the_standing(database, "A1").cleared_at is None, "its last word is that it stands"
    move(database, order_id, "Completed")
    take_in(database, cleared("A1", 50))
    move(database, order_id, "Running")
    assert the_standing(database, "A1").cleared_at == minutes(50)


def test_what_was_cleared_and_raised_again_in_another_order_is_not_cleared_when_taken_up_again(
    database: Database,
) -> None:
    first, second = fault("A1", 10), fault("A1", 20)
    take_in(database, first, cleared("A1", 15))
    order_id = ordered(database, first)
    complete(database, order_id)
    move(database, order_id, "Running")
    assert the_standing(database, "A1").cleared_at == minutes(15)
    move(database, order_id, "Completed")
    take_in(database, second)
    complete(database, ordered(database, second))
    move(database, order_id, "Running")
    assert the_standing(database, "A1").cleared_at is None


def taken_up_again(database: Database, order_id: str) -> FaultHeld:
    with pytest.raises(FaultHeld) as refused, database.writing() as session:
        set_status(session, order_id, "Running", "王芳", "", NOW)
    assert order_row(database, order_id).status == "Completed"
    return refused.value


def test_it_is_refused_while_another_order_has_the_fault_and_that_one_is_named(database: Database) -> None:
    first, again = fault("A1"), fault("A1", 10, event_id="E2", source="plc-9")
    take_in(database, first)
    old = ordered(database, first)
    complete(database, old)
    take_in(database, again)
    error = taken_up_again(database, old)
    assert (error.order_id, error.holder, error.event_id, error.source) == (old, None, "E2", "plc-9")
    assert str(error) == (
        f"{old} cannot be taken up again: its fault (交互屏组装A线 A1 E401) came back since and is now with "
        "event 'E2' from 'plc-9', whose order is still to come"
    )
    new = ordered(database, again)
    error = taken_up_again(database, old)
    assert error.holder == new
    assert str(error).endswith(f"and is now with {new}")
    assert [row.status for row in standing(database, "A1")] == [StandingStatus.CLOSED, StandingStatus.OPEN]


def test_it_is_possible_again_when_the_other_order_has_ended(database: Database) -> None:
    first, again = fault("A1"), fault("A1", 10)
    take_in(database, first)
    old = ordered(database, first)
    complete(database, old)
    take_in(database, again)
    new = ordered(database, again)
    complete(database, new)
    move(database, old, "Running")
    assert [row.status for row in standing(database, "A1")] == [StandingStatus.OPEN, StandingStatus.CLOSED]
    assert taken_up_again(database, new).holder == old


def test_what_moves_between_open_statuses_leaves_the_fault_alone(database: Database) -> None:
    first = fault("A1")
    take_in(database, first)
    order_id = ordered(database, first)
    before = vars(the_standing(database, "A1"))
    move(database, order_id, "Ready", "Held", "Running", "Held", "Ready", "Dispatched", "Running")
    after = vars(the_standing(database, "A1"))
    assert {k: v for k, v in before.items() if k[0] != "_"} == {k: v for k, v in after.items() if k[0] != "_"}
