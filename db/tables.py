"""Work orders and follow-ups as tables for a terminal, with times in the plant's time zone.

The zone and the terminal's width may be given; else they are the settings' and the terminal's own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from db.cells import (
    DOUBT,
    GAP,
    Row,
    empty_table,
    faint,
    local,
    mark,
    number,
    plain,
    priority,
    short,
    spaced,
    status_text,
)
from db.models.follow_up import FollowUpStatus
from db.models.order import StepStatus
from db.order_view import order_lines
from db.settings import PlantSettings, settings_or_exit
from db.trace_view import trace_lines

Legend = Callable[[set[str]], Text | None]
"""What is said below a table, given the heads of the columns that it has room for."""


@dataclass(frozen=True)
class _Column:
    """A column and what stands in it. When the terminal is too narrow for all columns, those of the highest
    `rank` are left out first; what is `least` wide or less is never cut, nor is a column without one."""

    head: str
    cell: Callable[[Row], Text]
    rank: int = 0
    least: int | None = None
    justify: Literal["left", "right"] = "left"


def orders_table(orders: Sequence[Row], zone: tzinfo | None = None, width: int | None = None) -> Table:
    """One line an order; what the marks under Steps mean stands below."""
    zone = zone or settings_or_exit(PlantSettings).zone
    columns = [
        _Column("Order", _order),
        _Column("Time", lambda o: Text(local(o["created_at"], zone, "%H:%M")), rank=3),
        _Column("P", lambda o: priority(o["priority"]), rank=1),
        _Column("Status", lambda o: status_text(o["status"])),
        _Column("Line", lambda o: short(o["line_name"]), least=13),
        _Column("Equipment", lambda o: short(o["equipment"]), rank=5, least=14),
        _Column("Code", lambda o: short(o["fault_code"]), least=5),
        _Column("Assignee", lambda o: short(o["assignee"]), rank=4, least=8),
        _Column("Steps", lambda o: Text().join(mark(step["status"]) for step in o["steps"]), rank=2),
        _Column("Open", _open_follow_ups, rank=7, justify="right"),
        _Column("Planner", _planner, rank=6, least=9),
    ]
    return _table(orders, columns, width, lambda heads: _legend(orders, heads))


def follow_ups_table(
    follow_ups: Sequence[Row], zone: tzinfo | None = None, width: int | None = None
) -> Table:
    """One row a missing fact. The status has a column only when one of them is not open."""
    zone = zone or settings_or_exit(PlantSettings).zone
    status = [_Column("Status", lambda f: status_text(f["status"]))]
    columns = [
        _Column("Id", lambda f: Text(str(f["id"]), style="bold"), justify="right"),
        *(status if any(f["status"] != FollowUpStatus.OPEN for f in follow_ups) else []),
        _Column("Kind", lambda f: Text(spaced(f["kind"])), rank=1),
        _Column("Step", lambda f: Text(f["step"]), rank=2),
        _Column("Subject", lambda f: plain(f["subject"]), least=13),
        _Column("To supply", lambda f: plain(f["owner"]), least=10),
        _Column("Reason", lambda f: plain(f["reason"]), rank=5, least=30),
        _Column("Orders", lambda f: number(len(f.get("order_ids", ()))), rank=4, justify="right"),
        _Column("Opened", lambda f: Text(local(f["opened_at"], zone, "%m-%d %H:%M")), rank=3),
    ]
    return _table(follow_ups, columns, width)


def rejected_table(rejected: Sequence[Row], zone: tzinfo | None = None, width: int | None = None) -> Table:
    """One row a stream entry that could not become an alarm."""
    zone = zone or settings_or_exit(PlantSettings).zone
    columns = [
        _Column("Id", lambda r: Text(str(r["id"]), style="bold"), justify="right"),
        _Column("Received", lambda r: Text(local(r["received_at"], zone, "%m-%d %H:%M"))),
        _Column("Reason", lambda r: Text(r["reason"], style="red")),
        _Column("Detail", lambda r: plain(r["detail"]), least=24),
        _Column("Bytes", lambda r: number(r["raw_bytes"]), rank=1, justify="right"),
        _Column("Entry", lambda r: short(r["entry_id"]), rank=2),
    ]
    return _table(rejected, columns, width)


def order_view(order: Row, zone: tzinfo | None = None, width: int | None = None) -> RenderableType:
    """One order whole, in sections."""
    return order_lines(order, zone or settings_or_exit(PlantSettings).zone, width or Console().width)


def trace_view(account: Row, zone: tzinfo | None = None) -> RenderableType:
    """The attempts at one alarm, each turn by turn."""
    return trace_lines(account, zone or settings_or_exit(PlantSettings).zone)


def _table(
    rows: Sequence[Row], columns: Sequence[_Column], width: int | None, legend: Legend | None = None
) -> Table:
    cells = [(column, [column.cell(row) for row in rows]) for column in columns]
    room = width or Console().width
    while sum(_least(*one) + GAP for one in cells) - GAP > room and any(column.rank for column, _ in cells):
        cells.remove(max(cells, key=lambda one: one[0].rank))
    heads = [
        Column(column.head, width=wide, justify=column.justify, no_wrap=column.least is None, overflow="fold")
        for (column, _), wide in zip(cells, _widths(cells, room), strict=True)
    ]
    table = empty_table(heads, legend({column.head for column, _ in cells}) if legend else None)
    for line in zip(*(texts for _, texts in cells), strict=True):
        table.add_row(*line)
    return table


def _widths(cells: Sequence[tuple[_Column, Sequence[Text]]], room: int) -> list[int]:
    """What each column needs at least; what room is left goes to cut text, the narrowest first."""
    widths = [_least(*one) for one in cells]
    wanted = [_most(*one) for one in cells]
    for _ in range(room - sum(widths) - GAP * (len(cells) - 1)):
        cut = [index for index in range(len(cells)) if widths[index] < wanted[index]]
        if not cut:
            break
        widths[min(cut, key=lambda index: widths[index])] += 1
    return widths


def _least(column: _Column, cells: Sequence[Text]) -> int:
    most = _most(column, cells)
    return most if column.least is None else min(most, max(column.least, cell_len(column.head)))


def _most(column: _Column, cells: Sequence[Text]) -> int:
    return max(cell_len(line) for line in (column.head, *(text.plain for text in cells)))


def _order(order: Row) -> Text:
    doubt = (f" {DOUBT}", "bold yellow") if order["diagnosis_flags"] else ""
    return Text.assemble((order["order_id"], "bold"), doubt)


def _open_follow_ups(order: Row) -> Text:
    return number(sum(one["status"] == FollowUpStatus.OPEN for one in order["follow_ups"]), "yellow")


def _planner(order: Row) -> Text:
    if order["handover_reason"] is None:
        return short(order["planner"])
    return short(f"{order['planner']} *", "yellow")


def _legend(orders: Sequence[Row], heads: set[str]) -> Text | None:
    met = {step["status"] for order in orders for step in order["steps"]}
    said = []
    if "Steps" in heads and met - {StepStatus.SUCCESS}:
        said.append(Text("Steps: manual, shift, parts, order"))
        said += [Text.assemble(mark(status), " ", spaced(status)) for status in StepStatus if status in met]
        said = [Text("   ").join(said)]
    if any(order["diagnosis_flags"] for order in orders):
        said.append(
            Text.assemble((DOUBT, "bold yellow"), " its words name another line, code or order: see `show`")
        )
    if "Planner" in heads and any(order["handover_reason"] is not None for order in orders):
        said.append(Text.assemble(("*", "yellow"), " took over from the model"))
    return faint(Text("\n").join(said)) if said else None
