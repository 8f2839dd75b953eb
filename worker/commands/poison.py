"""The commands `alarm-worker poison`: alarms that no attempt brings to an order, and another go at them."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from db import terminal

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from rich.table import Table

app = typer.Typer(
    help="Alarms at which three attempts came to nothing. The runbook alone goes on trying, ever later.",
    no_args_is_help=True,
)


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many, the worst.")] = 50,
    as_json: terminal.AsJson = False,
) -> None:
    """List the alarms that are set aside, the worst first, and what went wrong last."""
    from db.queries import clock
    from db.queries.alarms.poison import list_poison

    zone = terminal.zone()
    with terminal.opened() as database, database.reading() as session:
        found = list_poison(session, limit + 1)
        now = clock.now(session)
        where = terminal.place(database.url)
    more, found = len(found) > limit, found[:limit]
    if as_json:
        terminal.print_json(found)
    elif found:
        console = terminal.terminal()
        console.print(_table(found, zone, now, console.width))
    else:
        typer.echo(f"no alarm is set aside as poison in {where}")
    if more:
        typer.echo(f"the worst {limit}; --limit shows more", err=as_json)


@app.command()
def retry(
    ids: Annotated[list[int], typer.Argument(metavar="ID", help="As `poison list` shows them.")],
    by: Annotated[str, typer.Option("--by", metavar="WHO", help="Who does it; kept in the alarm's history.")],
) -> None:
    """Forget the failures of alarms: they are due at once, and the model has another go at them.

    For when the cause is gone: a bug is mended, a plant's data are put right. All are put back, or none.
    """
    from db.queries import clock
    from db.queries.alarms.poison import retry_poison

    who = terminal.required(by, "--by")
    with terminal.opened() as database, database.writing() as session:
        retried = retry_poison(session, ids, who, clock.now(session))
    for alarm in retried:
        what = terminal.one_line(f"{alarm['fault_code']} on {alarm['line_name']}")
        typer.echo(f"alarm {alarm['id']} ({what}): put back, by {who}")


def _table(found: list[dict[str, Any]], zone: "ZoneInfo", now: datetime, width: int) -> "Table":
    from rich.text import Text

    from db.views.cells import age, local, number, plain, short, spaced
    from db.views.columns import Column, fitted_table

    def next_attempt(row: dict[str, Any]) -> Text:
        if row["status"] in ("waiting", "poison"):
            return Text(local(row["next_attempt_at"], zone, "%m-%d %H:%M"))
        return Text("now" if row["status"] == "running" else "sent", style="green")

    columns = [
        Column("Id", lambda a: Text(str(a["id"]), style="bold"), justify="right"),
        Column("Line", lambda a: short(a["line_name"]), least=13),
        Column("Equipment", lambda a: short(a["equipment"]), rank=2, least=14),
        Column("Code", lambda a: short(a["fault_code"]), least=5),
        Column("Event", lambda a: short(a["event_id"]), rank=3, least=12),
        Column("Failures", lambda a: number(a["failures"], "red"), justify="right"),
        Column("Last error", lambda a: plain(spaced(a["last_error"] or ""), "red"), least=16),
        Column("Next attempt", next_attempt, rank=1),
        Column("Age", lambda a: Text(age(now - a["received_at"])), rank=4, justify="right"),
    ]
    return fitted_table(found, columns, width)
