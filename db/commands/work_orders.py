"""The command `work-orders`: what the line has made, and what a person does with it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from db import terminal
from db.commands import shelving

if TYPE_CHECKING:
    from db.errors import NoOrderYet

# Words that cost an import of SQLAlchemy to look up; a test holds them to the enumerations.
ORDER_WORDS = "Waiting, Ready, Dispatched, Running, Held, Completed, Cancelled, Closed"
STEP_WORDS = "search_manual, query_shift, query_spare_parts, generate_work_order"

app = typer.Typer(
    help="Work orders and follow-ups: look at them, and move them on. DATABASE_URL says in which database; "
    "times are shown in PLANT_TIMEZONE.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # Rich's help takes twice the time
)
follow_ups = typer.Typer(help="Facts that a person must supply.", no_args_is_help=True)
app.add_typer(follow_ups, name="follow-ups")
app.add_typer(shelving.app)

By = Annotated[str, typer.Option("--by", metavar="WHO", help="Who does it; kept in the history.")]
Note = Annotated[str, typer.Option("--note", metavar="TEXT", help="Why; kept in the history.")]
FollowUpId = Annotated[str, typer.Argument(metavar="ID", help="As `follow-ups list` shows it.")]


@app.callback()
def _start() -> None:
    terminal.begin("sqlalchemy")


@app.command("list")
def list_(
    line: Annotated[
        str | None, typer.Option(metavar="LINE", help="Only this line; width, case and spaces do not matter.")
    ] = None,
    status: Annotated[
        str | None, typer.Option(metavar="STATUS", help=f"Only this status: {ORDER_WORDS}.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help="Only orders made since this ISO date or date-time; without an offset, in PLANT_TIMEZONE.",
        ),
    ] = None,
    planner: Annotated[
        str | None, typer.Option(metavar="PLANNER", help="Only this planner: a model's name, or runbook.")
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=100_000, help="At most so many, the newest.")
    ] = 50,
    as_json: terminal.AsJson = False,
) -> None:
    """List work orders, the newest first."""
    from db.models.order import OrderStatus
    from db.queries.orders import reading as orders

    wanted: dict[str, Any] = {
        "line": terminal.words(line, "--line"),
        "status": terminal.one_of(status, "--status", OrderStatus),
        "since": terminal.moment(since, "--since"),
        "planner": terminal.words(planner, "--planner"),
    }
    zone = terminal.zone()
    with terminal.opened() as database, database.reading() as session:
        found = orders.list_orders(session, **wanted, limit=limit + 1)
        total = len(found) if len(found) <= limit else orders.count_orders(session, **wanted)
        known = orders.lines(session) if not found and line is not None else []
        where = terminal.place(database.url)
    found = found[:limit]
    if as_json:
        terminal.print_json(found)
    elif found:
        from db.views.tables import orders_table

        console = terminal.terminal()
        console.print(orders_table(found, zone, console.width))
    else:
        matching = "work orders match" if any(wanted.values()) else "work orders"
        hint = f"; lines that have some: {', '.join(known[:20])}" if known else ""
        typer.echo(f"no {matching} in {where}{hint}")
    if total > limit:
        typer.echo(f"the newest {limit} of {total}; --limit {total} shows all", err=as_json)


@app.command()
def show(
    order_or_event_id: Annotated[
        str, typer.Argument(metavar="ORDER_OR_EVENT_ID", help="WO-..., or the id of an alarm's event.")
    ],
    source: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="Who sent the event, when several sources use its id."),
    ] = None,
    trace: Annotated[
        bool,
        typer.Option("--trace", help="Instead, how it came about: each run's conversation, turn by turn."),
    ] = False,
    as_json: terminal.AsJson = False,
) -> None:
    """Show one work order whole: repeats, diagnosis, actions, parts, steps, follow-ups, history.

    Of an event that has none, say why; its JSON then has null as `order_id`, and the `reason`.
    """
    from db.errors import NoOrderYet
    from db.queries.orders import events
    from db.queries.orders import reading as orders
    from db.queries.orders.accounts import accounts

    key = terminal.required(order_or_event_id, "ORDER_OR_EVENT_ID")
    sent_by = terminal.words(source, "--source")
    zone = terminal.zone()
    with terminal.opened() as database, database.reading() as session:
        try:
            shown = (accounts if trace else orders.show)(session, key, sent_by)
        except NoOrderYet:
            _say_why_not(events.without_order(session, key, sent_by, zone), as_json)
            return
        by_number = shown["order_id"] == key.upper()
        part = None if by_number else events.part_of_another(session, key, sent_by)
    if as_json:
        terminal.print_json(shown)
        return

    from db.views.order import order_lines
    from db.views.standing import part_line
    from db.views.trace import trace_lines

    console = terminal.terminal()
    if part is not None:
        console.print(part_line(part, shown["order_id"], zone))
    console.print(trace_lines(shown, zone) if trace else order_lines(shown, zone, console.width))


def _say_why_not(event: "NoOrderYet", as_json: bool) -> None:
    if as_json:
        facts = {"event_id": event.event_id, "source": event.source, "alarm_status": event.status}
        terminal.print_json({"order_id": None, **facts, "reason": event.why})
    else:
        typer.echo(terminal.one_line(event))


@app.command()
def set_status(
    order: Annotated[str, typer.Argument(metavar="ORDER", help="WO-...")],
    status: Annotated[str, typer.Argument(metavar="STATUS", help=f"{ORDER_WORDS}.")],
    by: By,
    note: Note = "",
) -> None:
    """Move a work order on; only the transitions of a job order (ISA-95) are allowed."""
    from db.models.order import OrderStatus
    from db.queries import clock
    from db.queries.orders import transitions

    order_id = terminal.required(order, "ORDER")
    wanted = terminal.one_of(status, "STATUS", OrderStatus)
    who, why = terminal.required(by, "--by"), terminal.note(note)
    with terminal.opened() as database, database.writing() as session:
        moved = transitions.set_status(session, order_id, str(wanted), who, why, clock.now(session))
    change = moved["history"][-1]
    typer.echo(f"{moved['order_id']}: {change['from_status']} -> {change['to_status']}, by {who}")


@follow_ups.command("list")
def list_follow_ups(
    only_open: Annotated[bool, typer.Option("--open", help="Only those that nobody has closed.")] = False,
    step: Annotated[str | None, typer.Option(metavar="STEP", help=f"Only this step's: {STEP_WORDS}.")] = None,
    as_json: terminal.AsJson = False,
) -> None:
    """List what a person must supply, the longest open first."""
    from db.models.order import StepName
    from db.queries.orders import follow_ups

    wanted = terminal.one_of(step, "--step", StepName)
    zone = terminal.zone()
    with terminal.opened() as database, database.reading() as session:
        found = follow_ups.list_follow_ups(session, only_open, wanted)
        where = terminal.place(database.url)
    if as_json:
        terminal.print_json(found)
    elif found:
        from db.views.tables import follow_ups_table

        console = terminal.terminal()
        console.print(follow_ups_table(found, zone, console.width))
    else:
        typer.echo(f"no {'open ' if only_open else ''}follow-ups in {where}")


@follow_ups.command()
def resolve(follow_up_id: FollowUpId, by: By, note: Note = "") -> None:
    """Close a follow-up whose fact has been supplied."""
    _close(follow_up_id, "resolved", by, note)


@follow_ups.command()
def dismiss(follow_up_id: FollowUpId, by: By, note: Note = "") -> None:
    """Close a follow-up whose fact is not needed."""
    _close(follow_up_id, "dismissed", by, note)


def _close(follow_up_id: str, status: str, by: str, note: str) -> None:
    from db.queries import clock
    from db.queries.orders import follow_ups

    number = terminal.whole_number(follow_up_id, "ID")
    who, why = terminal.required(by, "--by"), terminal.note(note)
    with terminal.opened() as database, database.writing() as session:
        closed = follow_ups.close(session, number, status, who, why, clock.now(session))
    typer.echo(f"follow-up {closed['id']} ({closed['subject']}): {closed['status']}, by {who}")


if __name__ == "__main__":
    app(prog_name="work-orders")
