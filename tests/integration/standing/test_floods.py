"""A line in a flood: what comes on top of its limit joins one order, and what is severe never does."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from db.models import Flood
from db.models.standing import StandingStatus
from db.queries.orders.reading import show
from db.queries.standing import floods
from db.rules import FloodLimit, Rules
from db.session import Database
from tests.helpers.faults import (
    LEADS,
    alarm_row,
    attached,
    books_balance,
    complete,
    fault,
    minutes,
    move,
    order_row,
    ordered,
    places,
    standing,
    take_in,
    the_standing,
)
from tests.helpers.support import NOW

THREE = Rules(flood_limit=FloodLimit(3, timedelta(minutes=10)))

both_ways = pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "in one batch"])


def floods_in(database: Database) -> list[Flood]:
    with database.reading() as session:
        return list(session.scalars(select(Flood).order_by(Flood.id)))


def a_flood(database: Database, at: float = 0, **facts: Any) -> list[Any]:
    """Five faults within a second: three of their own, one that leads the flood, one that joins it."""
    alarms = [fault(f"A{number}", at + number / 300, **facts) for number in range(1, 6)]
    take_in(database, *alarms, rules=THREE, now=minutes(at))
    return alarms


@both_ways
def test_above_the_limit_the_alarms_of_a_line_join_one_order(database: Database, at_once: bool) -> None:
    alarms = [fault(f"A{number}", number) for number in range(1, 8)]
    elsewhere = fault("A1", line_name="交互屏组装B线")
    take_in(database, *alarms, elsewhere, rules=THREE, at_once=at_once, now=minutes(8))
    leader = alarms[3]
    assert places(database, *alarms) == [LEADS] * 4 + [attached(leader)] * 3
    assert places(database, elsewhere) == [LEADS]
    [flood] = floods_in(database)
    assert (flood.line_name, flood.line_key, flood.started_at, flood.ended_at) == (
        "交互屏组装A线",
        "交互屏组装a线",
        minutes(8),
        None,
    )
    assert flood.leader_id == alarm_row(database, leader).id
    assert flood.first_out_id == alarm_row(database, alarms[0]).id
    members = [row for row in standing(database) if row.leader_id == flood.leader_id]
    assert [row.equipment for row in members] == ["A4", "A5", "A6", "A7"]
    with database.reading() as session:
        books_balance(session)


def test_without_a_limit_each_fault_has_its_own_order(database: Database) -> None:
    alarms = [fault(f"A{number}") for number in range(50)]
    take_in(database, *alarms, at_once=True)
    assert places(database, *alarms) == [LEADS] * 50
    assert floods_in(database) == []


def test_the_first_out_is_the_first_raised_not_the_first_that_came(database: Database) -> None:
    alarms = [fault(f"A{number}", 5 - number) for number in range(1, 5)]
    take_in(database, *alarms, rules=THREE)
    assert places(database, *alarms) == [LEADS] * 4
    [flood] = floods_in(database)
    assert flood.first_out_id == alarm_row(database, alarms[2]).id
    assert flood.leader_id == alarm_row(database, alarms[3]).id


@both_ways
def test_a_severe_alarm_is_never_grouped_and_counts(database: Database, at_once: bool) -> None:
    alarms = [fault(f"A{number}", severity=800) for number in range(5)]
    less, last = fault("B1", severity=799), fault("B2", severity=1000)
    take_in(database, *alarms, less, last, rules=THREE, at_once=at_once)
    assert places(database, *alarms, less, last) == [LEADS] * 7
    [flood] = floods_in(database)
    assert flood.leader_id == alarm_row(database, less).id


@both_ways
def test_a_severe_occurrence_of_a_fault_in_the_flood_belongs_there_and_raises_it(
    database: Database, at_once: bool
) -> None:
    alarms = [fault(f"A{number}") for number in range(5)]
    worse = fault("A4", severity=900)
    take_in(database, *alarms, worse, rules=THREE, at_once=at_once)
    assert places(database, worse) == [attached(alarms[3])]
    assert alarm_row(database, alarms[3]).urgency == 900
    assert [the_standing(database, f"A{number}").severity for number in (3, 4)] == [500, 900]


def test_a_worse_fault_raises_the_order_of_the_flood(database: Database) -> None:
    alarms = a_flood(database)
    order_id = ordered(database, alarms[3])
    take_in(database, fault("B1", severity=799), rules=THREE)
    order = order_row(database, order_id)
    assert (order.severity, order.priority) == (799, 2)


def test_of_several_faults_that_get_worse_at_once_the_first_of_the_worst_raises_the_order(
    database: Database,
) -> None:
    alarms = a_flood(database)
    order_id = ordered(database, alarms[3])
    worse = [("A4", 780, "E1"), ("A5", 780, "E2"), ("B1", 600, "E3")]
    batch = [fault(name, severity=severity, event_id=event_id) for name, severity, event_id in worse]
    take_in(database, *batch, rules=THREE, at_once=True)
    with database.reading() as session:
        [_, raised] = show(session, order_id)["history"]
    assert raised["note"] == "severity 500 -> 780, priority 3 -> 2 (event E1)"
    assert alarm_row(database, alarms[3]).urgency == 780
    take_in(database, fault("B1", severity=700), rules=THREE)
    assert alarm_row(database, alarms[3]).urgency == order_row(database, order_id).severity == 780


def test_occurrences_of_few_faults_are_no_flood(database: Database) -> None:
    alarms = [fault(f"A{number % 3}", number / 100) for number in range(60)]
    take_in(database, *alarms, rules=THREE, at_once=True)
    assert places(database, *alarms[:3]) == [LEADS] * 3
    assert floods_in(database) == []


def test_the_window_goes_by_when_the_alarms_were_raised(database: Database) -> None:
    """A backlog that comes all at once was no flood, and a flood is one although it comes late."""
    backlog = [fault(f"A{number}", number * 5) for number in range(8)]
    late = [fault(f"B{number}", -600) for number in range(5)]
    take_in(database, *backlog, *late, rules=THREE, at_once=True, now=minutes(60))
    assert places(database, *backlog) == [LEADS] * 8
    assert places(database, *late) == [LEADS] * 4 + [attached(late[3])]


def test_a_flood_ends_with_its_order(database: Database) -> None:
    alarms = a_flood(database)
    complete(database, ordered(database, alarms[3]), now=minutes(5))
    [flood] = floods_in(database)
    assert flood.ended_at == minutes(5)
    assert [row.status for row in standing(database)] == [StandingStatus.OPEN] * 3 + [
        StandingStatus.CLOSED
    ] * 2
    again = [fault("A5", 6), fault("B1", 6)]
    take_in(database, *again, rules=THREE, now=minutes(6))
    assert places(database, *again) == [LEADS, attached(again[0])]
    assert the_standing(database, "A5").repeat_of is not None
    assert [each.ended_at for each in floods_in(database)] == [minutes(5), None]


def test_another_order_that_ends_leaves_the_flood_alone(database: Database) -> None:
    alarms = a_flood(database)
    complete(database, ordered(database, alarms[0]))
    [flood] = floods_in(database)
    assert flood.ended_at is None


def ended(database: Database, at: float, rules: Rules = THREE) -> int:
    with database.reading() as session:
        any_over = floods.any_over(session, minutes(at), rules)
    with database.writing() as session:
        count = floods.end(session, minutes(at), rules)
    assert any_over == bool(count)
    return count


def test_a_flood_ends_when_the_line_is_no_longer_above_the_limit(database: Database) -> None:
    alarms = a_flood(database)
    take_in(database, fault("B1", 8), fault("B2", 8.5), fault("B3", 9), rules=THREE, now=minutes(9))
    assert ended(database, 15) == 0
    assert ended(database, 18.5) == 1
    assert ended(database, 18.5) == 0
    [flood] = floods_in(database)
    assert flood.ended_at == minutes(18.5)
    after = fault("B4", 19)
    take_in(database, after, fault("A5", 19), rules=THREE, now=minutes(19))
    assert places(database, after) == [LEADS]
    assert the_standing(database, "A5").leader_id == alarm_row(database, alarms[3]).id


def test_a_flood_of_a_backlog_lasts_a_window_from_its_beginning(database: Database) -> None:
    """Its alarms were raised long ago: by them alone, the line would have its peace at once."""
    alarms = a_flood(database, at=-100)
    [flood] = floods_in(database)
    with database.writing() as session:
        session.get_one(Flood, flood.id).started_at = NOW
    assert ended(database, 9) == 0
    more = fault("B1", -100)
    take_in(database, more, rules=THREE, now=minutes(9))
    assert places(database, more) == [attached(alarms[3])]
    assert ended(database, 10) == 1


def test_without_a_limit_a_flood_ends_and_its_order_stays(database: Database) -> None:
    alarms = a_flood(database)
    [flood] = floods_in(database)
    with database.writing() as session:
        session.get_one(Flood, flood.id).started_at = NOW
    assert ended(database, 9, Rules()) == 0, "another worker may still have its limit"
    assert ended(database, 10, Rules()) == 1
    assert ended(database, 10, Rules()) == 0
    assert floods_in(database)[0].ended_at == minutes(10)
    assert the_standing(database, "A5").leader_id == alarm_row(database, alarms[3]).id
    alone = fault("B1", 1)
    take_in(database, alone)
    assert places(database, alone) == [LEADS]


def test_an_order_of_a_flood_that_is_taken_up_again_has_its_faults_and_no_flood(database: Database) -> None:
    alarms = a_flood(database)
    order_id = ordered(database, alarms[3])
    complete(database, order_id, now=minutes(5))
    move(database, order_id, "Running", now=minutes(6))
    assert [(row.status, row.closed_at) for row in standing(database)] == [(StandingStatus.OPEN, None)] * 5
    again, new = fault("A5", 7), fault("B1", 7)
    take_in(database, again, new, rules=THREE, now=minutes(7))
    assert places(database, again, new) == [attached(alarms[3]), LEADS]
    assert [each.ended_at for each in floods_in(database)] == [minutes(5), None]
