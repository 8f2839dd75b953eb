"""The table of the misbehaviours' test: behaviours by data, and how many ended as they should."""

from collections import Counter, defaultdict

Cell = Counter[str]  # "tried", "right", "alone"

TABLE: dict[str, dict[str, Cell]] = defaultdict(lambda: defaultdict(Counter))
"""By kind of misbehaviour, then by state of the data."""


def note(kind: str, state: str, right: bool, alone: bool) -> None:
    """One alarm's end: whether its order was right, and whether the model had made it alone."""
    TABLE[kind][state].update(tried=1, right=int(right), alone=int(alone))


def lines() -> list[str]:
    """The table as text: right/tried in each cell, and how many the model was left to finish."""
    states = list(dict.fromkeys(state for row in TABLE.values() for state in row))
    head = ["misbehaviour", *states, "all", "not handed over"]
    rows = [[kind, *_cells(row, states)] for kind, row in TABLE.items()]
    if len(rows) > 1:
        sums: dict[str, Cell] = {
            state: sum((row[state] for row in TABLE.values() if state in row), Counter()) for state in states
        }
        rows.append(["all", *_cells(sums, states)])
    widths = [max(len(row[n]) for row in [head, *rows]) for n in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in [head, *rows]
    ]


def _cells(row: dict[str, Cell], states: list[str]) -> list[str]:
    found = [row.get(state, Counter()) for state in states]
    total: Cell = sum(found, Counter())
    return [*(_share(cell) if cell else "-" for cell in found), _share(total), str(total["alone"])]


def _share(cell: Cell) -> str:
    return f"{cell['right']}/{cell['tried']}"
