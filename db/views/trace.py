"""The accounts of the runs at an alarm, turn by turn, for a terminal."""

import json
from collections.abc import Iterator
from datetime import tzinfo
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from db.models.alarm import AlarmStatus
from db.models.order import RUNBOOK, StepStatus
from db.views.cells import FAINT, Prose, Row, local, mark, plain, spaced

NOT_KEPT = "no account is kept of this attempt: it was made before there were any, or its worker died"
NONE_YET = "no attempt has been made yet"
NOT_YET = "still running: its account is kept when it ends"
_BY = {
    "source": "from its source",
    "ledger": "answered already: from the ledger",
    "refusal": "refused",
    "settlement": "settled",
}
_STATUSES = {status.value for status in StepStatus}


def trace_lines(account: Row, zone: tzinfo) -> RenderableType:
    """Each attempt at an alarm: what was said and called, what it was answered, and by whom."""
    alarm = [account["fault_code"], "on", account["line_name"], account["equipment"]]
    never = account["alarm_status"] in (AlarmStatus.STORED, AlarmStatus.SHELVED)
    order = account["order_id"] or f"no work order{'' if never else ' yet'}"
    title = Text("   ").join([plain(order, "bold"), plain(" ".join(filter(None, alarm)))])
    event = Prose.assemble(
        ("event ", FAINT), plain(account["event_id"]), (" from ", FAINT), plain(account["source"])
    )
    blocks: list[RenderableType] = [title, event]
    for run in account["runs"]:
        blocks += [Text(), _heading(run, zone), Padding(_conversation(run), (0, 0, 0, 1))]
    if not account["runs"]:
        none = f"no attempt is made at it: it is {account['alarm_status']}" if never else NONE_YET
        blocks += [Text(), Text(none, style=FAINT)]
    return Group(*blocks)


def _heading(run: Row, zone: tzinfo) -> RenderableType:
    style = {"settled": "green", "running": "bold green", "failed": "red", "lapsed": "red"}
    parts = [
        Text(f"Attempt {run['attempt']}", style="bold"),
        Text(spaced(run["outcome"]), style=style.get(run["outcome"], "yellow")),
        Text(_span(run, zone), style=FAINT),
    ]
    return Rule(Text("  ").join(parts), align="left", style=FAINT, characters="─")


def _span(run: Row, zone: tzinfo) -> str:
    began = local(run["started_at"], zone)
    took = f"{(run['ended_at'] - run['started_at']).total_seconds():.1f} s" if run["ended_at"] else ""
    return "  ".join(filter(None, [began, took]))


def _conversation(run: Row) -> RenderableType:
    grid = Table.grid(
        Column(justify="right", style=FAINT, no_wrap=True),
        Column(no_wrap=True),
        Column(overflow="fold", ratio=1),
        padding=(0, 1),
        expand=True,
    )
    for entry in run["trace"] or []:
        for number, (sign, line) in enumerate(_ENTRIES.get(entry["kind"], _unknown)(entry)):
            grid.add_row(f"{entry['at']:.1f} s" if number == 0 and "at" in entry else "", sign, line)
    if run["trace"] is None:
        grid.add_row(
            "",
            Text("!", style="yellow"),
            Prose(NOT_YET if run["ended_at"] is None else NOT_KEPT, style=FAINT),
        )
    grid.add_row("", "", _sum(run))
    return grid


Lines = Iterator[tuple[Text, Text]]


def _alarm(entry: Row) -> Lines:
    yield Text("▸", style=FAINT), Text("the alarm, as it is put to a model", style="bold")
    yield Text(), _words(entry, FAINT)


def _model(entry: Row) -> Lines:
    who = plain(entry["by"], "bold yellow" if entry["by"] == RUNBOOK else "bold cyan")
    cost = f"model call {entry['call']}" if entry.get("call") else ""
    if "input_tokens" in entry:
        cost += f", {entry['input_tokens']:,} tokens in, {entry['output_tokens']:,} out"
    yield (
        Text("●", style="yellow" if entry["by"] == RUNBOOK else "cyan"),
        Prose.assemble((f"turn {entry['turn']}  ", FAINT), who, (f"  {cost}" if cost else "", FAINT)),
    )
    if entry["text"].strip():
        yield Text(), _words(entry)
    for call in entry.get("written", []):
        yield Text(), Prose.assemble(("written: ", "yellow"), _called(call))
    if entry.get("repaired"):
        written = "" if entry.get("written") else "calls written in the text, "
        yield Text(), Text(f"{written}taken as:" if entry["calls"] else "no call in it", style="yellow")
    for call in entry["calls"]:
        yield Text("→", style="cyan"), _called(call)


def _failure(entry: Row) -> Lines:
    yield (
        Text("✗", style="red"),
        Prose.assemble(f"model call {entry['call']} failed: ", plain(entry["error"], "red")),
    )


def _tool(entry: Row) -> Lines:
    known = entry["status"] in _STATUSES
    part = entry["arguments"].get("part") if isinstance(entry["arguments"], dict) else None
    sign = mark(entry["status"]) if known else Text("✗", style="red")
    yield (
        Text("←", style="cyan"),
        Prose.assemble(
            plain(entry["name"], "bold"),
            plain(f" {part}") if part else "",
            "  ",
            sign,
            " ",
            plain(spaced(entry["status"])),
            "  ",
            (_BY[entry["by"]], "yellow" if entry["by"] in ("ledger", "refusal") else FAINT),
        ),
    )
    message, rest = _answer(entry)
    if message:
        yield Text(), plain(message, lines=True)
    if rest:
        yield Text(), _words({"text": rest, "cut": entry.get("cut")}, FAINT)


def _answer(entry: Row) -> tuple[str, str]:
    """A result's message with its suggestion, and its facts; as it is where it was cut."""
    try:
        result = json.loads(entry["text"])
        message = " · ".join(str(result.pop(name)) for name in ("message", "suggestion") if result.get(name))
        result.pop("status", None)
    except (ValueError, AttributeError, TypeError):
        return "", entry["text"]
    return message, json.dumps(result, ensure_ascii=False) if result else ""


def _reminder(entry: Row) -> Lines:
    yield (
        Text("!", style="yellow"),
        Text("reminded, since the model stopped before the order stood", style="yellow"),
    )
    yield Text(), _words(entry)


def _handover(entry: Row) -> Lines:
    calls = entry["model_calls"]
    yield (
        Text("⇒", style="bold yellow"),
        Prose.assemble(
            (
                f"handed over to the runbook after {calls} model call{'' if calls == 1 else 's'}: ",
                "bold yellow",
            ),
            plain(entry["reason"], "yellow"),
        ),
    )


def _end(entry: Row) -> Lines:
    yield Text("■", style=FAINT), plain(entry["outcome"], "bold")


def _left_out(entry: Row) -> Lines:
    yield (
        Text("…", style=FAINT),
        Text(f"{entry['entries']} entries are left out, to keep the account small", style=FAINT),
    )


def _unknown(entry: Row) -> Lines:
    yield Text("·", style=FAINT), plain(json.dumps(entry, ensure_ascii=False, default=str))


_ENTRIES = {
    "alarm": _alarm,
    "model": _model,
    "failure": _failure,
    "tool": _tool,
    "reminder": _reminder,
    "handover": _handover,
    "end": _end,
    "left_out": _left_out,
}


def _called(call: Row) -> Text:
    arguments: Any = call["arguments"]
    shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Prose.assemble(plain(call["name"], "bold"), " ", plain(shown) if shown != "{}" else "")


def _words(entry: Row, style: str = "") -> Text:
    cut = f"  [{entry['cut']:,} more characters were cut]" if entry.get("cut") else ""
    return plain(entry["text"].strip() + cut, style, lines=True)


def _sum(run: Row) -> Text:
    planner = plain(run["planner"] or "nobody", "bold")
    cost = (
        f"{run['model_calls']} model calls, {run['input_tokens']:,} tokens in, {run['output_tokens']:,} out"
    )
    why = plain(run["error"], "red") if run["error"] else Text()
    return Prose.assemble(("planned by ", FAINT), planner, (f"  {cost}  ", FAINT), why)
