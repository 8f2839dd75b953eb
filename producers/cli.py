"""alarm-producer: pushes alarms onto the queue, from a simulator, the command line or a file."""

import json
import math
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from producers import terminal
from producers.terminal import BAD_INPUT, AsJson, How, SpoolFile, SpoolMax, Wait, end, fail

if TYPE_CHECKING:  # pydantic and redis take longer to load than --help may take
    from datetime import datetime

    from producers.sending import Sender

app = typer.Typer(
    cls=terminal.Utf8Group,
    help="Push equipment alarms onto the queue. BROKER_URL says where it is (redis://127.0.0.1:6379/0). "
    "Exit code 0: all confirmed; 1: some neither confirmed nor kept; 2: bad input; 3: the rest is spooled.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command()
def simulate(
    count: Annotated[int, typer.Option(min=0, max=1_000_000, help="How many events.")] = 20,
    rate: Annotated[float, typer.Option(min=0, help="Events a second; 0: as fast as possible.")] = 5.0,
    seed: Annotated[int, typer.Option(help="The same seed and start make the same events.")] = 1,
    start: Annotated[
        str | None,
        typer.Option(metavar="ISO", help="When the first occurs. [default: so that the last is now]"),
    ] = None,
    wait: Wait = 30,
    spool: SpoolFile = None,
    spool_max: SpoolMax = 100_000,
    as_json: AsJson = False,
) -> None:
    """Send simulated alarms: five lines, bursts, repeats and clears. The first is E401 on 交互屏组装A线."""
    from datetime import UTC, datetime

    from producers import simulator
    from producers.queue import STREAM

    if not math.isfinite(rate):
        fail("--rate: wants a number of events a second, or 0", BAD_INPUT)
    lasts = simulator.duration(count, seed)
    if start is None:
        first_at = (datetime.now(UTC) - lasts).replace(microsecond=0)
    else:
        first_at = _moment("--start", start)
        _moment("--start", (first_at + lasts).isoformat())  # the last has to be a moment as well
    same = f"alarm-producer simulate --count {count} --seed {seed} --start {first_at.isoformat()}"
    states: Counter[str] = Counter()
    lines: set[str] = set()
    codes: set[str] = set()

    def send_all(sender: "Sender") -> None:
        with terminal.progress(count) as advance:
            for batch in simulator.paced(simulator.simulate(count, seed, first_at), rate):
                sender.send(batch)
                states.update(event.state for event in batch)
                lines.update(event.line_name for event in batch)
                codes.update(event.fault_code for event in batch)
                advance(len(batch))

    how = How(wait, spool, spool_max, as_json)
    sent = terminal.send(send_all, count, how)
    summary = {
        "active": states["active"],
        "cleared": states["cleared"],
        "lines": len(lines),
        "fault_codes": len(codes),
        "source": simulator.SOURCE,
        "seed": seed,
        "start": first_at.isoformat(),
        "stream": STREAM,
        "first_entry_id": sent.first_entry_id,
        "last_entry_id": sent.last_entry_id,
    }
    said = "{active} active, {cleared} cleared, {lines} lines".format(**summary)
    end(sent, same, how, summary, f"{count} alarms confirmed: {said}\nThe same again: {same}")


@app.command()
def send(
    line: Annotated[str, typer.Option(help="The production line's name.")],
    code: Annotated[str, typer.Option(help="The fault's code.")],
    equipment: Annotated[str | None, typer.Option(help="The machine's name.")] = None,
    equipment_class: Annotated[str | None, typer.Option(help="The machine's kind.")] = None,
    message: Annotated[str | None, typer.Option(help="The machine's own words.")] = None,
    severity: Annotated[int | None, typer.Option(help="1 to 1000, higher is worse. [default: 500]")] = None,
    state: Annotated[str | None, typer.Option(help="active or cleared. [default: active]")] = None,
    at: Annotated[
        str | None, typer.Option(metavar="ISO", help="When it occurred, with its offset. [default: now]")
    ] = None,
    source: Annotated[str, typer.Option(help="The system that raised it.")] = "alarm-producer",
    event_id: Annotated[str | None, typer.Option("--id", help="The event's id. [default: a new one]")] = None,
    wait: Wait = 30,
    spool: SpoolFile = None,
    spool_max: SpoolMax = 100_000,
    as_json: AsJson = False,
) -> None:
    """Send one alarm."""
    from datetime import UTC, datetime
    from uuid import uuid4

    from producers.events import AlarmEvent, UnreadableEvent

    fields = {
        "event_id": ("--id", str(uuid4()) if event_id is None else event_id),
        "source": ("--source", source),
        "line_name": ("--line", line),
        "equipment": ("--equipment", equipment),
        "equipment_class": ("--equipment-class", equipment_class),
        "fault_code": ("--code", code),
        "severity": ("--severity", severity),
        "state": ("--state", state),
        "message": ("--message", message),
        "occurred_at": ("--at", datetime.now(UTC).isoformat() if at is None else at),
    }
    try:
        event = AlarmEvent.parse(json.dumps({field: value for field, (_, value) in fields.items()}).encode())
    except UnreadableEvent as error:
        detail = error.detail
        for field, (option, _) in fields.items():
            detail = detail.replace(f"{field}: ", f"{option}: ")
        fail(detail, BAD_INPUT)
    how = How(wait, spool, spool_max, as_json)
    sent = terminal.send(lambda sender: sender.send([event]), 1, how)
    summary = {"event_id": event.event_id, "source": event.source, "entry_id": sent.first_entry_id}
    # An event of this id at another time would be another event, and be refused.
    identity = ["--source", event.source, "--id", event.event_id, "--at", event.occurred_at.isoformat()]
    text = "\n".join(f"{key:8}  {value or ''}".rstrip() for key, value in summary.items())
    end(sent, f"the same options with {shlex.join(identity)}", how, summary, text)


@app.command()
def replay(
    file: Annotated[str, typer.Argument(metavar="FILE.jsonl", help="An event a line, as JSON; - is stdin.")],
    wait: Wait = 30,
    spool: SpoolFile = None,
    spool_max: SpoolMax = 100_000,
    as_json: AsJson = False,
) -> None:
    """Send the events of a file: all of them or, when a line is bad, none."""
    from producers.recording import BadRecording, read

    try:
        name, events = read(file)
    except BadRecording as error:
        fail(str(error), BAD_INPUT)
    how = How(wait, spool, spool_max, as_json)
    sent = terminal.send(lambda sender: sender.send(events), len(events), how)
    summary = {"file": name, "first_entry_id": sent.first_entry_id, "last_entry_id": sent.last_entry_id}
    same = f"alarm-producer replay {shlex.quote(name if file != '-' else file)}"
    end(sent, same, how, summary, f"{len(events)} alarms of {name} confirmed")


@app.command()
def drain(
    spool: Annotated[str, typer.Option("--spool", metavar="FILE", help="The spool of earlier commands.")],
    wait: Wait = 30,
    as_json: AsJson = False,
) -> None:
    """Send the alarms that a spool keeps, the oldest first; what is confirmed is removed from it."""
    terminal.end_drain(terminal.drain(How(wait, spool, 1, as_json)), as_json)


@app.command()
def schema() -> None:
    """Print the JSON Schema of an event."""
    from producers.events import AlarmEvent

    typer.echo(json.dumps(AlarmEvent.model_json_schema(), ensure_ascii=False, indent=2))


def _moment(option: str, text: str) -> "datetime":
    from pydantic_core import PydanticCustomError

    from producers.checks import moment

    try:
        return moment(text)
    except PydanticCustomError as error:
        fail(f"{option}: {error.message()}", BAD_INPUT)


if __name__ == "__main__":
    app(prog_name="alarm-producer")
