"""The command `alarm-worker`: run the line, show it, and look at what could not be read."""

import base64
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from db import terminal

app = typer.Typer(
    help="Runs the line: alarms off the queue, an agent's run over each, a work order in the database.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
rejected = typer.Typer(help="Stream entries that could not be read as alarms.", no_args_is_help=True)
app.add_typer(rejected, name="rejected")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; times are ISO 8601 with their offset.")]


class SetupKey(StrEnum):
    TEXT = "text"
    STATUS = "status"
    PROMPT = "prompt"
    LAYERS = "layers"


@app.callback()
def _start() -> None:
    terminal.begin("celery")


@app.command()
def run(
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1, max=512, help="Alarms handled at once. [default: WORKER_CONCURRENCY, which is 16]"
        ),
    ] = None,
) -> None:
    """Run a worker until SIGTERM or Ctrl-C, and start it again when it ends unasked.

    BROKER_URL and DATABASE_URL say where the queue and the database are. Running alarms then have
    STOP_GRACE_SECONDS to end.
    """
    from worker import supervisor

    _log()
    raise typer.Exit(supervisor.run(concurrency))


@app.command()
def demo() -> None:
    """Show the whole line: in var/demo, with an embedded queue and database, without any configuration."""
    from worker import demo as whole_line

    raise typer.Exit(whole_line.run())


@app.command()
def up() -> None:
    """Run queue, database, worker and Flower in the foreground until Ctrl-C; data are kept in var."""
    from worker import up as everything

    _log()
    raise typer.Exit(everything.run())


@app.command("eval")
def eval_(
    runs: Annotated[int, typer.Option(min=1, max=1000, help="How often each scenario is run.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Alarms handled at once.")] = 4,
    setup: Annotated[
        list[SetupKey] | None,
        typer.Option(help="Only this way to put the agent together; may be given again."),
    ] = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the JSON, with each alarm's end, there.")
    ] = None,
) -> None:
    """Measure the configured model on 24 scenarios, in four set-ups: what each layer around it is worth.

    LLM_MODEL and OPENAI_BASE_URL say which model. Each alarm is handled in a small database of its own.
    """
    from worker.eval import command

    raise typer.Exit(command.run(runs, concurrency, setup or [], as_json, out))


@rejected.command("list")
def list_(
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many, the newest.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List what was rejected and why, the newest first."""
    from db.queries.rejected import list_rejected

    zone = terminal.zone()
    with terminal.opened() as database, database.reading() as session:
        found = list_rejected(session, limit + 1)
    more, found = len(found) > limit, found[:limit]
    if as_json:
        terminal.print_json(found)
    elif found:
        from db.tables import rejected_table

        terminal.terminal().print(rejected_table(found, zone))
        if more:
            typer.echo(f"the newest {limit}; --limit shows more")
    else:
        typer.echo("nothing was rejected")


@rejected.command("show")
def show(
    rejected_id: Annotated[int, typer.Argument(metavar="ID", help="As `rejected list` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Show one rejected entry with what was sent, of which the first 64 KiB are kept."""
    from db.queries.rejected import show_rejected

    zone = terminal.zone()
    with terminal.opened() as database, database.reading() as session:
        found = show_rejected(session, rejected_id)
    raw: bytes = found.pop("raw")
    if as_json:
        terminal.print_json(found | _raw_fields(raw))
        return
    found["received_at"] = found["received_at"].astimezone(zone).isoformat(timespec="seconds")
    for name, value in found.items():
        typer.echo(f"{name:12} {value}")
    typer.echo(f"{'raw':12} {_readable(raw)}")


def _raw_fields(raw: bytes) -> dict[str, Any]:
    """`raw` as text where it is UTF-8, else null; `raw_base64` always has the bytes themselves."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = None
    return {"raw": text, "raw_base64": base64.b64encode(raw).decode()}


def _readable(raw: bytes, most: int = 2000) -> str:
    """Safe for a terminal: what is not printable is escaped."""
    text = raw[:most].decode(errors="backslashreplace")
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return shown if len(raw) <= most else f"{shown}… ({len(raw)} bytes are kept; --json shows them all)"


def _log() -> None:
    import logging

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)


if __name__ == "__main__":
    app()
