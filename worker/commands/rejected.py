"""The commands `alarm-worker rejected`: what could not be read as an alarm, and what becomes of it."""

import base64
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Annotated, Any

import typer

from db import terminal

if TYPE_CHECKING:
    from db.session import Database

# Words that cost an import of SQLAlchemy to look up; a test holds them to the enumeration.
REASON_WORDS = "no_event_field, too_large, not_utf8, not_json, invalid, id_reused, not_a_task"

app = typer.Typer(help="Stream entries that could not be read as alarms.", no_args_is_help=True)

Id = Annotated[int, typer.Argument(metavar="ID", help="As `rejected list` shows it.")]
Ids = Annotated[list[int] | None, typer.Argument(metavar="ID", help="As `rejected list` shows them.")]
AllOpen = Annotated[bool, typer.Option("--all-open", help="All that are open now, instead of named ones.")]
Reason = Annotated[str | None, typer.Option(metavar="REASON", help=f"Only of this reason: {REASON_WORDS}.")]
By = Annotated[str, typer.Option("--by", metavar="WHO", help="Who does it; kept with the entry.")]

_Outcome = tuple[int, str | Exception]
"""An entry's id, and what is to be said of it, or why it could not be done."""


@app.command("list")
def list_(
    all_: Annotated[bool, typer.Option("--all", help="Those that were retried or dropped as well.")] = False,
    reason: Reason = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many, the newest.")] = 50,
    as_json: terminal.AsJson = False,
) -> None:
    """List what was rejected and why, the newest first; without --all what nobody has dealt with yet."""
    from db.queries.alarms.rejected import count_rejected, list_rejected

    wanted = _reason(reason)
    zone = terminal.zone()
    with terminal.opened() as database, database.reading() as session:
        found = list_rejected(session, limit, open_only=not all_, reason=wanted)
        still_open = count_rejected(session, open_only=True, reason=wanted)
        ever = count_rejected(session, reason=wanted)
        where = terminal.place(database.url)
    total = ever if all_ else still_open
    counted = f"{still_open} open" if still_open == ever else f"{still_open} open of {ever} rejected"
    if as_json:
        terminal.print_json(found)
    elif found:
        from db.views.tables import rejected_table

        console = terminal.terminal()
        console.print(rejected_table(found, zone, console.width))
        typer.echo(counted)
    elif not ever:
        typer.echo(f"nothing was rejected{f' as {wanted}' if wanted else ''} in {where}")
    else:
        typer.echo(f"{counted} in {where}; --all shows those that were retried or dropped")
    if total > limit:
        typer.echo(f"the newest {limit} of {total}; --limit {total} shows all", err=as_json)


@app.command()
def show(rejected_id: Id, as_json: terminal.AsJson = False) -> None:
    """Show one rejected entry with what was sent, of which the first 64 KiB are kept."""
    from db.queries.alarms.rejected import show_rejected

    zone = terminal.zone()
    with terminal.opened() as database, database.reading() as session:
        found = show_rejected(session, rejected_id)
    raw: bytes = found.pop("raw")
    if as_json:
        terminal.print_json(found | _raw_fields(raw))
        return
    for name, value in found.items():
        typer.echo(f"{name:12} {_shown(value, zone)}")
    typer.echo(f"{'raw':12} {_readable(raw)}")


@app.command()
def retry(by: By, ids: Ids = None, all_open: AllOpen = False, reason: Reason = None) -> None:
    """Push entries onto the stream again, as events that can be read by now.

    What still cannot be read comes back as a rejected entry of its own. One that was cut at 64 KiB, that lay
    on Celery's own list, or whose event_id another alarm has, cannot be pushed again. An alarm that was taken
    in already stays one alarm.
    """
    from db.settings import settings_or_exit
    from producers.queue import connect
    from producers.settings import BrokerSettings
    from worker.line import push_again as again

    who = terminal.required(by, "--by")
    url = settings_or_exit(BrokerSettings).broker_url
    with terminal.opened() as database, closing(connect(url)) as broker:
        numbers = _chosen(database, ids, all_open, _reason(reason))

        def push(number: int) -> str:
            return f"pushed again as entry {again.retry(database, broker, number, who)}"

        outcomes = _one_by_one(numbers, push, "pushed again")
        if all_open:
            _say_how_many(outcomes, "pushed again")
        else:
            _say_each(outcomes)


@app.command()
def drop(
    by: By,
    ids: Ids = None,
    all_open: AllOpen = False,
    reason: Reason = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Kept with the entry's detail.")] = "",
) -> None:
    """Close entries that are worth nothing. They stay, with their bytes; `rejected list --all` shows them."""
    from db.models.alarm import RejectedStatus
    from db.queries import clock
    from db.queries.alarms.rejected import close

    who = terminal.required(by, "--by")
    said = terminal.required(why, "--why", 4000) if why.strip() else ""
    with terminal.opened() as database:
        numbers = _chosen(database, ids, all_open, _reason(reason))

        def close_one(number: int) -> str:
            with database.writing() as session:
                close(session, number, RejectedStatus.DROPPED, who, clock.now(session), said)
            return f"dropped, by {who}"

        outcomes = _one_by_one(numbers, close_one, "dropped")
        if all_open:
            _say_how_many(outcomes, "dropped")
        else:
            _say_each(outcomes)


def _chosen(database: "Database", ids: list[int] | None, all_open: bool, reason: str | None) -> list[int]:
    """The named ones, or all that are open: those of now, for what is pushed again may come back."""
    from db.queries.alarms.rejected import open_ids

    if bool(ids) is all_open:
        terminal.fail("wants the ID of each entry, or --all-open instead", terminal.MISUSED)
    if ids:
        if reason is not None:
            terminal.fail("--reason goes with --all-open", terminal.MISUSED)
        return list(dict.fromkeys(ids))
    with database.reading() as session:
        return open_ids(session, reason)


def _one_by_one(numbers: Iterable[int], work: Callable[[int], str], done: str) -> Iterator[_Outcome]:
    """Does what can be done. A broker that fails ends it, and the command."""
    from redis import RedisError

    from db.errors import DatabaseError
    from worker.line.push_again import CannotRetry
    from worker.process.backoff import brief

    succeeded = 0
    for number in numbers:
        try:
            said = work(number)
        except (DatabaseError, CannotRetry) as error:
            yield number, error
        except (RedisError, OSError) as error:
            terminal.fail(f"the broker failed: {brief(error)}; {succeeded} were {done} before that")
        else:
            succeeded += 1
            yield number, said


def _say_each(outcomes: Iterable[_Outcome]) -> None:
    """What could not be done although it was named is a failure."""
    refused = 0
    for number, outcome in outcomes:
        if isinstance(outcome, Exception):
            refused += 1
            typer.echo(f"error: {terminal.one_line(outcome)}", err=True)
        else:
            typer.echo(f"rejected alarm {number}: {outcome}")
    if refused:
        raise typer.Exit(terminal.WRONG)


def _say_how_many(outcomes: Iterable[_Outcome], done: str) -> None:
    refusals = [isinstance(outcome, Exception) for _, outcome in outcomes]
    refused = f", {sum(refusals)} cannot be; name one to see why" if any(refusals) else ""
    typer.echo(f"{refusals.count(False)} {done}{refused}")


def _reason(reason: str | None) -> str | None:
    from db.models.alarm import RejectReason

    return terminal.one_of(reason, "--reason", RejectReason)


def _raw_fields(raw: bytes) -> dict[str, Any]:
    """`raw` as text where it is UTF-8, else null; `raw_base64` always has the bytes themselves."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = None
    return {"raw": text, "raw_base64": base64.b64encode(raw).decode()}


def _shown(value: Any, zone: tzinfo) -> str:
    if isinstance(value, datetime):
        return value.astimezone(zone).isoformat(timespec="seconds")
    return "-" if value is None else _printable(str(value))


def _readable(raw: bytes, most: int = 2000) -> str:
    shown = _printable(raw[:most].decode(errors="backslashreplace"))
    return shown if len(raw) <= most else f"{shown}… ({len(raw)} bytes are kept; --json shows them all)"


def _printable(text: str) -> str:
    """Safe for a terminal: what is not printable is escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
