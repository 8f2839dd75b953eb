"""alarm-producer: pushes alarms onto the queue, from a simulator, the command line or a file."""

import io
import json
import math
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:  # pydantic and redis take longer to load than --help may take
    from datetime import datetime

    from producers.events import AlarmEvent

NOT_CONFIRMED, BAD_INPUT, INTERRUPTED = 1, 2, 130


class _Utf8Group(TyperGroup):
    """Writes UTF-8 whatever the locale: line names are Chinese, and JSON is UTF-8."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        return super().main(*args, **kwargs)


app = typer.Typer(
    cls=_Utf8Group,
    help="Push equipment alarms onto the queue. BROKER_URL says where it is (redis://127.0.0.1:6379/0).",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


@app.command()
def simulate(
    count: Annotated[int, typer.Option(min=0, max=1_000_000, help="How many events.")] = 20,
    rate: Annotated[float, typer.Option(min=0, help="Events a second; 0: as fast as possible.")] = 5.0,
    seed: Annotated[int, typer.Option(help="The same seed and start make the same events.")] = 1,
    start: Annotated[
        str | None,
        typer.Option(metavar="ISO", help="When the first occurs. [default: so that the last is now]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Send simulated alarms: five lines, bursts, repeats and clears. The first is E401 on 交互屏组装A线."""
    from datetime import UTC, datetime

    from producers import simulator
    from producers.queue import STREAM

    if not math.isfinite(rate):
        _fail("--rate: wants a number of events a second, or 0", BAD_INPUT)
    lasts = simulator.duration(count, seed)
    if start is None:
        first_at = (datetime.now(UTC) - lasts).replace(microsecond=0)
    else:
        first_at = _moment("--start", start)
        _moment("--start", (first_at + lasts).isoformat())  # the last has to be a moment as well
    same = f"--count {count} --seed {seed} --start {first_at.isoformat()}"
    entry_ids: list[str] = []
    states: Counter[str] = Counter()
    lines: set[str] = set()
    codes: set[str] = set()
    with _publisher(f"alarm-producer simulate {same}") as publish:
        try:
            with _progress(count) as advance:
                for batch in simulator.paced(simulator.simulate(count, seed, first_at), rate):
                    entry_ids += publish(batch)
                    states.update(event.state for event in batch)
                    lines.update(event.line_name for event in batch)
                    codes.update(event.fault_code for event in batch)
                    advance(len(batch))
        except KeyboardInterrupt:
            confirmed = f"{len(entry_ids)} of {count} alarms were confirmed"
            _fail(f"Stopped; {confirmed}. The same again: alarm-producer simulate {same}", INTERRUPTED)
    summary = {
        "confirmed": len(entry_ids),
        "active": states["active"],
        "cleared": states["cleared"],
        "lines": len(lines),
        "fault_codes": len(codes),
        "source": simulator.SOURCE,
        "seed": seed,
        "start": first_at.isoformat(),
        "stream": STREAM,
        "first_entry_id": entry_ids[0] if entry_ids else None,
        "last_entry_id": entry_ids[-1] if entry_ids else None,
    }
    said = "{confirmed} alarms confirmed: {active} active, {cleared} cleared, {lines} lines"
    _print(summary, as_json, f"{said.format(**summary)}\nThe same again: alarm-producer simulate {same}")


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
        _fail(detail, BAD_INPUT)
    # An event of this id at another time would be another event, and be refused.
    identity = ["--source", event.source, "--id", event.event_id, "--at", event.occurred_at.isoformat()]
    with _publisher(f"the same options with {shlex.join(identity)}") as publish:
        (entry_id,) = publish([event])
    sent = {"event_id": event.event_id, "source": event.source, "entry_id": entry_id}
    _print(sent, as_json, "\n".join(f"{key:8}  {value}" for key, value in sent.items()))


@app.command()
def replay(
    file: Annotated[str, typer.Argument(metavar="FILE.jsonl", help="An event a line, as JSON; - is stdin.")],
    as_json: AsJson = False,
) -> None:
    """Send the events of a file: all of them or, when a line is bad, none."""
    from producers.recording import BadRecording, read

    try:
        name, events = read(file)
    except BadRecording as error:
        _fail(str(error), BAD_INPUT)
    with _publisher(f"alarm-producer replay {shlex.quote(name if file != '-' else file)}") as publish:
        entry_ids = publish(events)
    summary = {
        "file": name,
        "confirmed": len(entry_ids),
        "first_entry_id": entry_ids[0] if entry_ids else None,
        "last_entry_id": entry_ids[-1] if entry_ids else None,
    }
    _print(summary, as_json, f"{len(entry_ids)} alarms of {name} confirmed")


@app.command()
def schema() -> None:
    """Print the JSON Schema of an event."""
    from producers.events import AlarmEvent

    typer.echo(json.dumps(AlarmEvent.model_json_schema(), ensure_ascii=False, indent=2))


@contextmanager
def _publisher(again: str) -> Iterator[Callable[[Iterable["AlarmEvent"]], list[str]]]:
    """What publishes events; if the broker does not confirm, the program ends, saying how to send `again`."""
    from producers.queue import PublishError, connect, publish
    from producers.settings import SettingsError, broker_settings, redacted

    try:
        url = broker_settings().broker_url
    except SettingsError as error:
        _fail(str(error), BAD_INPUT)
    confirmed = 0
    with connect(url) as client:

        def publish_counted(events: Iterable["AlarmEvent"]) -> list[str]:
            nonlocal confirmed
            entry_ids = publish(client, events)
            confirmed += len(entry_ids)
            return entry_ids

        try:
            yield publish_counted
        except PublishError as error:
            said = PublishError(confirmed + error.confirmed, error.cause)
            _fail(f"BROKER_URL {redacted(url)}: {said}. The same again: {again}", NOT_CONFIRMED)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr if a person looks at it."""
    if not sys.stderr.isatty():
        yield lambda sent: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("alarms"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        yield lambda sent: bar.advance(task, sent)


def _moment(option: str, text: str) -> "datetime":
    from pydantic_core import PydanticCustomError

    from producers.checks import moment

    try:
        return moment(text)
    except PydanticCustomError as error:
        _fail(f"{option}: {error.message()}", BAD_INPUT)


def _print(summary: dict[str, Any], as_json: bool, text: str) -> None:
    typer.echo(json.dumps(summary, ensure_ascii=False) if as_json else text)


def _fail(text: str, code: int) -> NoReturn:
    typer.echo(text, err=True)
    raise typer.Exit(code)


if __name__ == "__main__":
    app(prog_name="alarm-producer")
