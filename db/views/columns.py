"""Tables that fit their terminal: the least important columns are left out, the others share the room."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import rich.table
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from db.views.cells import GAP, Row, empty_table

Legend = Callable[[set[str]], Text | None]
"""What is said below a table, given the heads of the columns that it has room for."""


@dataclass(frozen=True)
class Column:
    """A column and what stands in it. When the terminal is too narrow for all columns, those of the highest
    `rank` are left out first; what is `least` wide or less is never cut, nor is a column without one."""

    head: str
    cell: Callable[[Row], Text]
    rank: int = 0
    least: int | None = None
    justify: Literal["left", "right"] = "left"


def fitted_table(
    rows: Sequence[Row],
    columns: Sequence[Column],
    width: int | None = None,
    legend: Legend | None = None,
    ruled: bool = True,
) -> Table:
    """One line a row, as many of the columns as there is room for; without a width, the terminal's."""
    cells = [(column, [column.cell(row) for row in rows]) for column in columns]
    room = width or Console().width
    while sum(_least(*one) + GAP for one in cells) - GAP > room and any(column.rank for column, _ in cells):
        cells.remove(max(cells, key=lambda one: one[0].rank))
    heads = [
        rich.table.Column(
            column.head, width=wide, justify=column.justify, no_wrap=column.least is None, overflow="fold"
        )
        for (column, _), wide in zip(cells, _widths(cells, room), strict=True)
    ]
    table = empty_table(heads, legend({column.head for column, _ in cells}) if legend else None, ruled)
    for line in zip(*(texts for _, texts in cells), strict=True):
        table.add_row(*line)
    return table


def _widths(cells: Sequence[tuple[Column, Sequence[Text]]], room: int) -> list[int]:
    """What each column needs at least; what room is left goes to cut text, the narrowest first."""
    widths = [_least(*one) for one in cells]
    wanted = [_most(*one) for one in cells]
    for _ in range(room - sum(widths) - GAP * (len(cells) - 1)):
        cut = [index for index in range(len(cells)) if widths[index] < wanted[index]]
        if not cut:
            break
        widths[min(cut, key=lambda index: widths[index])] += 1
    return widths


def _least(column: Column, cells: Sequence[Text]) -> int:
    most = _most(column, cells)
    return most if column.least is None else min(most, max(column.least, cell_len(column.head)))


def _most(column: Column, cells: Sequence[Text]) -> int:
    return max(cell_len(line) for line in (column.head, *(text.plain for text in cells)))
