"""What a work order is made of, each in a table: its parts, steps, follow-ups and history."""

from collections.abc import Sequence
from datetime import tzinfo

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from db.views.cells import FAINT, Row, empty_table, local, mark, plain, spaced, status_text


def parts_lines(parts: Sequence[Row]) -> RenderableType | None:
    table = empty_table(
        [
            Column("Number", no_wrap=True),
            Column("Name", overflow="fold", min_width=8),
            Column("Matched as", overflow="fold", min_width=8),
            Column("Score", justify="right", no_wrap=True),
            Column("Stock", justify="right", no_wrap=True),
            Column("Location", overflow="fold", min_width=6),
        ],
        ruled=False,
    )
    for part in parts:
        short = part["below_minimum"]
        stock = f"{part['quantity']} {part['unit']}".strip() + (" low" if short else "")
        table.add_row(
            plain(part["number"], "bold"),
            plain(part["name"]),
            plain(part["matched_as"]),
            f"{part['score']:.0f}",
            plain(stock, "red" if short else ""),
            plain(part["location"]),
        )
    return table if table.row_count else None


def steps_lines(steps: Sequence[Row]) -> RenderableType | None:
    table = empty_table(
        [
            Column("Step", no_wrap=True),
            Column("Status", no_wrap=True),
            Column("Asked", justify="right", no_wrap=True),
            Column("Message", overflow="fold", min_width=20),
        ],
        ruled=False,
    )
    for step in steps:
        spared = f" +{step['suppressed_calls']}" if step["suppressed_calls"] else ""
        table.add_row(
            step["step"],
            Text.assemble(mark(step["status"]), " ", spaced(step["status"])),
            Text.assemble(str(step["calls"]), (spared, FAINT)),
            plain(step["message"], lines=True),
        )
    if any(step["suppressed_calls"] for step in steps):
        table.caption = Text("Asked: at the source, + answered from what was known", style=FAINT)
    return table if table.row_count else None


def follow_ups_lines(follow_ups: Sequence[Row], zone: tzinfo) -> RenderableType | None:
    table = empty_table(
        [
            Column("Id", justify="right", no_wrap=True),
            Column("Status", no_wrap=True),
            Column("Kind", no_wrap=True),
            Column("Subject", overflow="fold", min_width=10),
            Column("To supply", overflow="fold", min_width=8),
            Column("Opened", no_wrap=True),
        ],
        ruled=False,
    )
    for follow_up in follow_ups:
        table.add_row(
            Text(str(follow_up["id"]), style="bold"),
            status_text(follow_up["status"]),
            spaced(follow_up["kind"]),
            plain(follow_up["subject"]),
            plain(follow_up["owner"]),
            local(follow_up["opened_at"], zone, "%m-%d %H:%M"),
        )
    return table if table.row_count else None


def history_lines(changes: Sequence[Row], zone: tzinfo) -> RenderableType | None:
    grid = Table.grid(
        Column(style=FAINT, no_wrap=True), Column(no_wrap=True), Column(overflow="fold"), padding=(0, 2)
    )
    for change in changes:
        note = Text.assemble(("  ", ""), plain(change["note"], lines=True)) if change["note"] else Text()
        by = Text.assemble(("by ", FAINT), plain(change["changed_by"]), note)
        moved = change["from_status"] != change["to_status"]
        status = status_text(change["to_status"])
        status = status if moved else Text.assemble(("still ", FAINT), status)
        grid.add_row(local(change["changed_at"], zone), status, by)
    return grid if grid.row_count else None
