"""An order is as urgent as the worst of the alarms that belong to it, whenever that one comes."""

import pytest

from db.models import StatusChange
from db.queries.orders.reading import show
from db.rules import Rules
from db.session import Database
from tests.helpers.faults import alarm_row, fault, minutes, move, order_row, ordered, take_in, the_standing
from tests.helpers.support import an_order, claimed, count, settled

both_ways = pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "in one batch"])


@both_ways
def test_a_worse_occurrence_makes_an_alarm_without_an_order_more_urgent(
    database: Database, at_once: bool
) -> None:
    first = fault("A1", severity=400)
    rest = [fault("A1", severity=severity) for severity in (900, 700, 300)]
    take_in(database, first, *rest, at_once=at_once)
    row = alarm_row(database, first)
    assert (row.severity, row.urgency) == (400, 900)
    assert the_standing(database, "A1").severity == 900
    order = order_row(database, ordered(database, first))
    assert (order.severity, order.priority) == (900, 1)


def test_an_alarm_with_no_worse_occurrence_keeps_its_own_severity(database: Database) -> None:
    first = fault("A1", severity=400)
    take_in(database, first, fault("A1", severity=400), fault("A1", severity=1))
    assert alarm_row(database, first).urgency is None
    order = order_row(database, ordered(database, first))
    assert (order.severity, order.priority) == (400, 3)


def test_a_worse_occurrence_raises_an_order_that_stands_and_its_history_says_so(database: Database) -> None:
    first = fault("A1", severity=500)
    take_in(database, first)
    order_id = ordered(database, first)
    move(database, order_id, "Ready")
    take_in(
        database,
        fault("A1", severity=550, event_id="E1", source="plc-8"),
        fault("A1", severity=900, event_id="E2", source="plc-9"),
        fault("A1", severity=900, event_id="E3"),
        fault("A1", severity=600, event_id="E4"),
        now=minutes(7),
    )
    order = order_row(database, order_id)
    assert (order.severity, order.priority, order.status) == (900, 1, "Ready")
    with database.reading() as session:
        history = show(session, order_id)["history"][2:]
    assert history == [
        {
            "from_status": "Ready",
            "to_status": "Ready",
            "changed_by": source,
            "note": note,
            "changed_at": minutes(7),
        }
        for source, note in (
            ("plc-8", "severity 500 -> 550 (event E1)"),
            ("plc-9", "severity 550 -> 900, priority 3 -> 1 (event E2)"),
        )
    ]


def test_of_a_batch_the_worst_occurrence_raises_the_order_once(database: Database) -> None:
    first = fault("A1", severity=500)
    take_in(database, first)
    order_id = ordered(database, first)
    severities = (600, 900, 700, 900)
    take_in(database, *(fault("A1", severity=severity) for severity in severities), at_once=True)
    assert order_row(database, order_id).severity == 900
    assert count(database, StatusChange) == 2


def test_the_plants_own_table_of_severities_gives_the_priority(database: Database) -> None:
    first = fault("A1", severity=100)
    take_in(database, first)
    order_id = ordered(database, first)
    take_in(database, fault("A1", severity=450), rules=Rules(priority_severities=(500, 400, 300)))
    assert order_row(database, order_id).priority == 2


def test_an_order_that_a_person_would_call_worse_than_the_table_stays_so(database: Database) -> None:
    """The table may have been changed since the order was made: it is raised, never lowered."""
    first = fault("A1", severity=700)
    take_in(database, first)
    order_id = ordered(database, first)
    take_in(database, fault("A1", severity=750), rules=Rules(priority_severities=(1000, 999, 998)))
    order = order_row(database, order_id)
    assert (order.severity, order.priority) == (750, 2)


def test_the_order_of_a_run_that_began_before_the_worse_occurrence_is_as_severe(database: Database) -> None:
    first = fault("A1", severity=300)
    take_in(database, first)
    row = alarm_row(database, first)
    attempt = claimed(database, row.id)
    take_in(database, fault("A1", severity=850))
    order = order_row(database, settled(database, row.id, attempt, an_order()))
    assert (order.severity, order.priority) == (850, 1)
    with database.reading() as session:
        assert len(show(session, order.order_id)["history"]) == 1
