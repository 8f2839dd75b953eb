"""Every misbehaviour by every state of the data: one order each, the one that a perfect model makes."""

import os
from typing import Any

import pytest
from sqlalchemy import inspect, select

from db.models import SparePart, WorkOrder
from db.models.order import StepName
from db.session import Database
from tests.helpers.line import LookUps
from tests.helpers.support import count
from tests.misbehaviour import ALL, table
from tests.misbehaviour.bench import PLANT, Bench, Case, End
from tests.misbehaviour.judge import Recorded, faults, follow_ups
from tests.misbehaviour.states import STATES, steady

SLOW_AT_ONCE = 4


EVERYTHING = bool(os.environ.get("ALL_MISBEHAVIOURS"))
"""Each by each. Else each meets the data when all is there, when something is missing or down, and when it
misleads; which of these goes round, so that every kind meets every state, in a third of the time."""
GROUPS = (
    ("all there",),
    ("no manual", "no roster", "no parts", "nothing", "manual down", "roster down", "parts down"),
    ("poisoned", "long", "ambiguous"),
)


def met_by(state: str, names: list[str]) -> list[str]:
    group = next(group for group in GROUPS if state in group)
    return names if EVERYTHING else names[group.index(state) :: len(group)]


NAMES = [name for name in ALL if name != "good"]
MATRIX = [("sqlite", state, met_by(state, NAMES)) for state in STATES] + [
    ("postgresql", state, NAMES[n::12]) for n, state in enumerate(("all there", "nothing", "roster down"))
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("database_url", "state", "names"),
    [pytest.param(*row, id=f"{row[0]}, {row[1]}") for row in MATRIX],
    indirect=["database_url"],
)
def test_every_misbehaviour_ends_in_the_one_order_of_a_perfect_model(
    plant: Database, bench: Bench, state: str, names: list[str]
) -> None:
    steady(plant, PLANT.zone)
    STATES[state](plant)
    cases = [Case.of(name) for name in names]
    messages = dict.fromkeys(case.message for case in cases)
    good = bench.run(plant, [Case("good", message) for message in messages])
    perfect = {end.case.message: end for end in good}
    for end in perfect.values():
        assert (end.order["planner"], end.order["handover_reason"]) == ("good", None)
        assert statuses_of(end.order) == EXPECTED.get(state, ALL_FOUND)
    wanted = follow_ups(plant)
    slow = [case for case in cases if case.kind.startswith("slow")]
    with LookUps(plant) as look_ups, Recorded() as recorded:
        ends = bench.run(plant, [case for case in cases if case not in slow])
        for n in range(0, len(slow), SLOW_AT_ONCE):
            ends += bench.run(plant, slow[n : n + SLOW_AT_ONCE])
    found = {end.case.name: faults(end, perfect[end.case.message]) for end in ends}
    for end in ends:
        own = f"{state} (PG)" if not plant.is_sqlite else state
        table.note(end.case.kind, own, not found[end.case.name], end.order.get("handover_reason") is None)
    wrong = [f"{name}: {'; '.join(said)}" for name, said in found.items() if said]
    assert not wrong, "\n".join(wrong)
    assert count(plant, WorkOrder) == len(perfect) + len(ends)
    assert follow_ups(plant) == wanted
    assert recorded.again == []
    assert look_ups_beyond(plant, look_ups, recorded) == {}
    assert invented_parts(plant, ends) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_record_of_a_step_says_how_many_calls_were_repaired(plant: Database, bench: Bench) -> None:
    names = ["good", "text calls/a fenced object each", "bad calls/JSON under input"]
    orders = [end.order for end in bench.run(plant, [Case(name) for name in names])]
    assert [order["handover_reason"] for order in orders] == [None, None, None]
    repaired = [[q["repaired"] for step in order["steps"] for q in step["questions"]] for order in orders]
    assert repaired == [[0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1]]


ALL_FOUND = ["success", "success", "success", "success"]
EXPECTED = {
    "no manual": ["not_found", "success", "not_found", "success"],
    "no roster": ["success", "not_found", "success", "success"],
    "no parts": ["success", "success", "not_found", "success"],
    "nothing": ["not_found", "not_found", "not_found", "success"],
    "manual down": ["unavailable", "success", "not_found", "success"],
    "roster down": ["success", "unavailable", "success", "success"],
    "parts down": ["success", "success", "unavailable", "success"],
    "long": ["success", "success", "not_found", "success"],
}


def statuses_of(order: dict[str, Any]) -> list[str]:
    return [step["status"] for step in order["steps"]]


def look_ups_beyond(database: Database, look_ups: LookUps, recorded: Recorded) -> dict[str, tuple[int, int]]:
    """By table that is there: the reads that reached it, where they are more than the answers taken."""
    taken = {
        "manual_entry": recorded.of(StepName.SEARCH_MANUAL) * 2,  # by code, and without one, by symptom
        "roster_entry": recorded.of(StepName.QUERY_SHIFT),
        "spare_part": recorded.of(StepName.QUERY_SPARE_PARTS) * 2,  # by name, and without one, by likeness
    }
    there = set(inspect(database.engine).get_table_names())
    return {
        name: (look_ups.of(name), times)
        for name, times in taken.items()
        # A few more: what a busy machine made too slow is tried once more.
        if name in there and look_ups.of(name) > times + 3 + times // 10
    }


def invented_parts(database: Database, ends: list[End]) -> list[str]:
    """Parts on an order that the store does not have."""
    if not inspect(database.engine).has_table(SparePart.__tablename__):
        return [part["number"] for end in ends for part in end.order["parts"]]
    with database.reading() as session:
        real = {(row.number, row.quantity) for row in session.scalars(select(SparePart))}
    return [
        part["number"]
        for end in ends
        for part in end.order["parts"]
        if (part["number"], part["quantity"]) not in real
    ]
