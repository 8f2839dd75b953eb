"""The command `alarm-worker`: run the line, show it, ask it, and look at what could not be read."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from db import terminal
from worker.commands import poison, rejected
from worker.commands.probe import probe
from worker.commands.status import status

app = typer.Typer(
    help="Runs the line: alarms off the queue, an agent's run over each, a work order in the database.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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
    from worker.commands import run as worker

    _log()
    raise typer.Exit(worker.run(concurrency))


app.command()(status)
app.command()(probe)
app.add_typer(rejected.app, name="rejected")
app.add_typer(poison.app, name="poison")


@app.command()
def demo() -> None:
    """Show the whole line: in var/demo, with an embedded queue and database, without any configuration."""
    from worker.commands import demo as whole_line

    raise typer.Exit(whole_line.run())


@app.command()
def up() -> None:
    """Run queue, database, worker and Flower in the foreground until Ctrl-C; data are kept in var."""
    from worker.commands import up as everything

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
    as_json: terminal.AsJson = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the JSON, with each alarm's end, there.")
    ] = None,
) -> None:
    """Measure the configured model on 24 scenarios, in four set-ups: what each layer around it is worth.

    LLM_MODEL and OPENAI_BASE_URL say which model. Each alarm is handled in a small database of its own.
    """
    from worker.eval import command

    raise typer.Exit(command.run(runs, concurrency, setup or [], as_json, out))


def _log() -> None:
    import logging

    from worker.process import log_redaction

    log_redaction.install()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)


if __name__ == "__main__":
    app()
