"""How an alarm's end compares with what a perfect model makes of the same alarm and the same data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Order = dict[str, Any]
"""As `work-orders show --json` has it."""

_FACTS = ("line_name", "equipment", "fault_code", "severity", "priority", "causes", "safety")


@dataclass(frozen=True)
class Score:
    """`correct` is exactly one order, and nothing in it unlike the perfect one but its words."""

    correct: bool
    steps_right: int
    steps: int
    wrong: tuple[str, ...]  # what is unlike the perfect order, by name
    orders: int = 1


def score(orders: Sequence[Order], perfect: Order) -> Score:
    """Compare all orders that an alarm brought with the one that it should have brought."""
    steps = len(perfect["steps"])
    if len(orders) != 1:
        return Score(False, 0, steps, ("no order" if not orders else f"{len(orders)} orders",), len(orders))
    (order,) = orders
    wrong = [name for name in _FACTS if order[name] != perfect[name]]
    statuses, wanted = _statuses(order), _statuses(perfect)
    right = statuses.items() & wanted.items()
    if statuses != wanted:
        wrong.append("steps")
    if not _stock(perfect) <= _stock(order):  # a model may ask for more
        wrong.append("parts")
    if _follow_ups(order) != _follow_ups(perfect):
        wrong.append("follow_ups")
    if not order["diagnosis"].strip() or not order["actions"]:
        wrong.append("diagnosis or actions")
    return Score(not wrong, len(right), steps, tuple(wrong))


def _statuses(order: Order) -> dict[str, str]:
    return {step["step"]: step["status"] for step in order["steps"]}


def _stock(order: Order) -> set[tuple[str, int, str]]:
    """The parts, whatever name they were asked for by."""
    return {(part["number"], part["quantity"], part["location"]) for part in order["parts"]}


def _follow_ups(order: Order) -> list[tuple[str, ...]]:
    return sorted(
        tuple(one[name] for name in ("kind", "step", "subject", "owner")) for one in order["follow_ups"]
    )
