"""One work order whole, for a terminal."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from db.codes import FINGERPRINT_DIGITS
from db.models.order import RUNBOOK
from db.views.cells import (
    DOUBT,
    FAINT,
    GAP,
    Row,
    local,
    plain,
    priority,
    status_text,
)
from db.views.order_tables import follow_ups_lines, history_lines, parts_lines, steps_lines
from db.views.standing import FLOOD_REMARK, alarms_table, flood_lines, occurrence_facts

_INDENT = 2
_LABEL, _FACT = 14, 36
_PAIRS_FROM = _INDENT + 2 * (_LABEL + _FACT) + 3 * GAP
"""Columns of a terminal from which on two facts stand on one line."""


def order_lines(order: Row, zone: tzinfo, width: int) -> RenderableType:
    """The whole order in sections; those that have nothing to say are left out."""
    blocks: list[RenderableType] = [_title(order), _facts(order, zone, width)]
    if order["flood"] is not None:
        blocks += _section("Flood", flood_lines(order["flood"], zone), FLOOD_REMARK)
    if order["flood"] is not None or len(order["alarms"]) > 1:
        blocks += _section("Alarms", alarms_table(order["alarms"], zone, width - _INDENT))
    words = "" if order["planner"] == RUNBOOK else f"in the words of {order['planner']}"
    blocks += _section("Diagnosis", plain(order["diagnosis"], lines=True), words)
    blocks += _section("Actions", _numbered(order["actions"]), words)
    blocks += _section(
        "Doubtful", _doubtful(order["diagnosis_flags"]), "named in these words, and not this alarm's"
    )
    blocks += _section("Causes", _listed(order["causes"]))
    blocks += _section("Safety", _listed(order["safety"], style="yellow"))
    blocks += _section("Parts", parts_lines(order["parts"]))
    blocks += _section("Steps", steps_lines(order["steps"]))
    blocks += _section("Follow-ups", follow_ups_lines(order["follow_ups"], zone))
    blocks += _section("History", history_lines(order["history"], zone))
    return Group(*blocks)


def _title(order: Row) -> Text:
    rank = Text.assemble("priority ", priority(order["priority"]))
    return Text("   ").join([Text(order["order_id"], style="bold"), status_text(order["status"]), rank])


def _facts(order: Row, zone: tzinfo, width: int) -> RenderableType:
    shift = order["shift"] or {}
    made = f"{local(order['created_at'], zone)}  {_zone_name(order['created_at'], zone)}"
    facts = [
        ("Line", plain(order["line_name"])),
        ("Equipment", plain(order["equipment"])),
        ("Fault code", _code(order)),
        ("Severity", Text(str(order["severity"]))),
        ("Occurred", Text(local(order["occurred_at"], zone))),
        *occurrence_facts(order, zone),
        ("Made", Text(made)),
        ("Assignee", plain(order["assignee"])),
        ("Planner", plain(order["planner"])),
        ("Shift", _duties(shift.get("at_order"), zone)),
        *([("Shift at alarm", _duties(shift["at_alarm"], zone))] if shift.get("at_alarm") else []),
        ("Model calls", _cost(order)),
        *([("Handed over", plain(order["handover_reason"], "yellow"))] if order["handover_reason"] else []),
    ]
    event = Text.assemble(plain(order["event_id"]), ("  from ", FAINT), plain(order["source"]))
    pairs = 2 if width >= _PAIRS_FROM else 1
    grid = _fact_grid(pairs)
    for start in range(0, len(facts), pairs):
        grid.add_row(*(cell for fact in facts[start : start + pairs] for cell in fact))
    last = _fact_grid(1)
    last.add_row("Event", event)
    last.add_row("Fingerprint", plain(order["fingerprint"][:FINGERPRINT_DIGITS]))
    return Padding(Group(grid, last), (1, 0, 0, _INDENT))


def _fact_grid(pairs: int) -> Table:
    grid = Table.grid(padding=(0, GAP), pad_edge=False)
    for _ in range(pairs):
        grid.add_column(style=FAINT, no_wrap=True, min_width=_LABEL)
        grid.add_column(overflow="fold", min_width=_FACT if pairs > 1 else None)
    return grid


def _code(order: Row) -> Text:
    code = plain(order["fault_code"], "bold")
    if order["native_code"] != order["fault_code"]:
        code = Text.assemble(code, ("  sent as ", FAINT), plain(order["native_code"]))
    return code


def _cost(order: Row) -> Text:
    if not order["model_calls"]:
        return Text("none")
    tokens = f"  {order['input_tokens']:,} tokens in, {order['output_tokens']:,} out"
    return Text.assemble(str(order["model_calls"]), (tokens, FAINT))


def _duties(duties: Any, zone: tzinfo) -> Text:
    """Who is on duty: `[{person, phone, shift, starts, ends}, …]`, one of them, or none."""
    people = [duties] if isinstance(duties, dict) else duties or []
    return Text("\n").join(_duty(duty, zone) for duty in people) if people else plain(None)


def _duty(duty: Row, zone: tzinfo) -> Text:
    hours = "-".join(_hour(duty.get(name), zone) for name in ("starts", "ends"))
    contact = plain(" ".join(filter(None, [duty.get("person"), duty.get("phone")])))
    return Text.assemble(contact, "  ", plain(f"{duty.get('shift') or ''} {hours}".strip(), FAINT))


def _hour(moment: Any, zone: tzinfo) -> str:
    try:
        return local(datetime.fromisoformat(moment), zone, "%H:%M")
    except (TypeError, ValueError):
        return str(moment or "")


def _zone_name(moment: datetime, zone: tzinfo) -> str:
    return str(getattr(zone, "key", None) or moment.astimezone(zone).tzname())


def _section(name: str, content: RenderableType | None, remark: str = "") -> list[RenderableType]:
    if content is None:
        return []
    title = Text(name, style="bold")
    if remark:
        title = Text("  ").join([title, plain(remark, FAINT)])
    heading = Rule(title, align="left", style=FAINT, characters="─")
    return [Text(), heading, Padding(content, (0, 0, 0, _INDENT))]


def _numbered(items: Sequence[str]) -> RenderableType | None:
    return _marked(((f"{number}.", item) for number, item in enumerate(items, start=1)), "right")


def _listed(items: Sequence[str], style: str = "") -> RenderableType | None:
    return _marked((("-", item) for item in items), "left", style)


def _marked(items: Iterable[tuple[str, str]], justify: Any, style: str = "") -> RenderableType | None:
    grid = Table.grid(Column(justify=justify, style=FAINT), Column(overflow="fold"), padding=(0, 1))
    for sign, item in items:
        grid.add_row(sign, plain(item, style, lines=True))
    return grid if grid.row_count else None


def _doubtful(flags: Sequence[Row]) -> RenderableType | None:
    """What a model's words name that is not this alarm's, and where."""
    grid = Table.grid(*(Column(no_wrap=True) for _ in range(3)), Column(overflow="fold"), padding=(0, 2))
    for flag in flags:
        place = re.fullmatch(r"actions\[(\d+)\]", flag["where"])
        where = f"action {int(place[1]) + 1}" if place is not None else flag["where"]
        grid.add_row(
            Text(DOUBT, style="bold yellow"),
            Text(where),
            Text(f"another {flag['kind']}", style="yellow"),
            plain(flag["text"], "bold"),
        )
    return grid if grid.row_count else None
