"""How often an order's faults occurred and which flood it stands for, for a terminal."""

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

from rich.console import RenderableType
from rich.table import Column as GridColumn
from rich.table import Table
from rich.text import Text

from db.codes import FINGERPRINT_DIGITS
from db.models.alarm import AlarmState
from db.views.cells import FAINT, Prose, Row, local, plain, short
from db.views.columns import Column, fitted_table

FLOOD_REMARK = "more alarms on the line than its limit: further ones joined this order"


def occurrence_facts(order: Row, zone: tzinfo) -> list[tuple[str, Text]]:
    """What there is to say beyond the one alarm: that it came again, has gone, or is not the first."""
    facts = []
    if order["occurrences"] > 1:
        span = _span(order["first_at"], order["last_at"], zone, beside=order["occurred_at"])
        of_each = f", {len(order['alarms'])} alarms" if len(order["alarms"]) > 1 else ""
        facts.append(("Repeats", Text(f"{order['occurrences']:,} times, {span}{of_each}")))
    gone = sum(alarm["cleared_at"] is not None for alarm in order["alarms"])
    if order["cleared_at"] is not None:
        facts.append(("Cleared", Text(local(order["cleared_at"], zone), style="green")))
    elif gone:
        facts.append(("Cleared", Text(f"{gone} of {len(order['alarms'])} alarms")))
    if order["repeat_of"] is not None:
        facts.append(("Again after", plain(order["repeat_of"], "yellow")))
    return facts


def flood_lines(flood: Row, zone: tzinfo) -> RenderableType:
    """Where and when, and the alarm that it began with."""
    first = flood["first_out"]
    grid = Table.grid(GridColumn(style=FAINT, no_wrap=True), GridColumn(overflow="fold"), padding=(0, 2))
    grid.add_row("First out", _alarm(first, "bold"))
    grid.add_row(
        "",
        Prose.assemble(
            ("event ", FAINT), plain(first["event_id"]), (" from ", FAINT), plain(first["source"])
        ),
    )
    grid.add_row("Its order", plain(first["order_id"]))
    grid.add_row("Line", plain(flood["line_name"]))
    grid.add_row("Began", Text(local(flood["started_at"], zone)))
    ended = (
        Text("not yet", style="yellow") if flood["ended_at"] is None else Text(local(flood["ended_at"], zone))
    )
    grid.add_row("Ended", ended)
    return grid


def alarms_table(alarms: Sequence[Row], zone: tzinfo, width: int) -> Table:
    """One line for each equipment and code; with day and year only where they are not all of one."""
    moments = [alarm[name] for alarm in alarms for name in ("first_at", "last_at", "cleared_at")]
    form = _form(moments, zone, "%H:%M:%S")

    def moment(name: str) -> Column:
        head = name.removesuffix("_at").capitalize()
        return Column(head, lambda a: plain(a[name] and local(a[name], zone, form)), _MOMENT_RANKS[name])

    columns = [
        Column("Equipment", lambda a: plain(a["equipment"]), least=16),
        Column("Code", lambda a: short(a["fault_code"], "bold"), least=5),
        Column("Severity", lambda a: Text(str(a["severity"])), rank=2, justify="right"),
        Column("Times", lambda a: Text(f"{a['occurrences']:,}"), justify="right"),
        moment("first_at"),
        moment("last_at"),
        moment("cleared_at"),
        Column("Fingerprint", lambda a: Text(a["fingerprint"][:FINGERPRINT_DIGITS]), rank=4),
    ]
    return fitted_table(alarms, columns, width, ruled=False)


_MOMENT_RANKS = {"first_at": 3, "last_at": 0, "cleared_at": 1}


def part_line(event: Row, order_id: str | None, zone: tzinfo) -> RenderableType:
    """That an event is an occurrence, or the clear, of what another one's order is made for."""
    what = "an occurrence" if event["state"] == AlarmState.ACTIVE else "the clear"
    leader = event["leader"]
    of = (
        plain(order_id, "bold")
        if order_id is not None
        else Text.assemble("event ", plain(leader["event_id"], "bold"), " from ", plain(leader["source"]))
    )
    return Prose.assemble(
        ("event ", FAINT), plain(event["event_id"]), (" from ", FAINT), plain(event["source"]), ", ",
        _alarm(event), f", {local(event['occurred_at'], zone)}, is {what} of ", of,
    )  # fmt: skip


def _alarm(alarm: Row, style: str = "") -> Text:
    return Text(" ").join(plain(alarm[name], style) for name in ("fault_code", "equipment") if alarm[name])


def _span(first: datetime, last: datetime, zone: tzinfo, beside: datetime) -> str:
    """From when to when; with the days where they are not the day of the moment beside it."""
    form = _form((first, last, beside), zone, "%H:%M")
    return f"{local(first, zone, form)} to {local(last, zone, form)}"


def _form(moments: Iterable[datetime | None], zone: tzinfo, of_one_day: str) -> str:
    """How to write the moments, with what they differ in."""
    days = {moment.astimezone(zone).date() for moment in moments if moment is not None}
    if len(days) <= 1:
        return of_one_day
    return "%m-%d %H:%M" if len({day.year for day in days}) == 1 else "%Y-%m-%d %H:%M"
