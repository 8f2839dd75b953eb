"""The command `alarm-worker probe`: whether the line works, from the stream to a claimed task."""

from typing import TYPE_CHECKING, Annotated

import typer

from db import terminal

if TYPE_CHECKING:
    from worker.commands.probing import Answer


def probe(
    timeout: Annotated[
        float, typer.Option(min=1, max=600, metavar="SECONDS", help="How long the probe may take.")
    ] = 30,
    worker: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="This worker must answer as well, such as celery@HOST."),
    ] = None,
    allow_busy: Annotated[
        bool,
        typer.Option(
            "--allow-busy",
            help="Exit code 0 too when it waits behind alarms that are taken in or worked on.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Ask the line whether it works, from end to end.

    A probe goes through stream, intake, dispatch and claim, and makes no order; each leg's time is said. When
    it does not come through, the exit code is 1, and it is said where it is stuck and what to look at. Any
    worker of the line may claim it.
    """
    from db.settings import settings_or_exit
    from producers.settings import BrokerSettings, redacted
    from worker.commands import probing as line

    url = settings_or_exit(BrokerSettings).broker_url
    name = terminal.words(worker, "--worker")
    with terminal.opened(at_head=False) as database:
        answer = line.ask(database, url, timeout, name)
        places = {
            "broker": f" (BROKER_URL {redacted(url)})",
            "database": f" ({terminal.place(database.url)})",
        }
    well = answer.works or (allow_busy and answer.busy)
    if as_json:
        terminal.print_json(vars(answer))
        raise typer.Exit(0 if well else terminal.WRONG)
    for leg, milliseconds in answer.legs_ms.items():
        typer.echo(f"{_spaced(leg):20} {milliseconds:>7,} ms")
    if answer.works:
        typer.echo(f"{'in all':20} {answer.total_ms:>7,} ms, claimed by {answer.claimed_by}")
    elif well:
        typer.echo(_said(answer))
    else:
        terminal.fail(_said(answer) + places.get(str(answer.stuck), ""))


def _said(answer: "Answer") -> str:
    stuck = str(answer.stuck)
    return f"the probe is stuck from {_spaced(stuck)}: {answer.said}" if "_to_" in stuck else answer.said


def _spaced(leg: str) -> str:
    return leg.replace("_", " ")
