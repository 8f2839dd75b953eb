"""The commands of `work-orders` that shelve alarms: nobody wants to hear of a fault for a while."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from db import terminal

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

LONGEST = timedelta(days=30)
"""What is to be shelved for longer is not shelved but repaired, or taken out of the equipment's program."""
_ORDER = re.compile(r"WO-[0-9]{8}-[0-9]{4,}", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9a-f]{8,64}", re.IGNORECASE)
_DURATION = re.compile(r"(?:([0-9]{1,4})d)?(?:([0-9]{1,5})h)?(?:([0-9]{1,6})m)?", re.IGNORECASE)

app = typer.Typer(rich_markup_mode=None)

Fingerprint = Annotated[
    str,
    typer.Argument(
        metavar="FINGERPRINT",
        help="As `show` says it, or its first digits, at least 8; or WO-..., for what that order began with.",
    ),
]


@app.command()
def shelve(
    fingerprint: Fingerprint,
    until: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            help="A duration such as 8h, 30m or 1d12h; or an ISO date-time, which without an offset is in "
            "PLANT_TIMEZONE. At most 30 days ahead.",
        ),
    ],
    by: Annotated[str, typer.Option("--by", metavar="WHO", help="Who does it.")],
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Why; shown to whoever looks.")],
) -> None:
    """Shelve a fault for a while: its alarms are kept and counted, and make no work orders.

    It ends by itself: what has not been cleared by then gets its order. A fault is one code on one piece of
    equipment of one line.
    """
    from db.queries import clock
    from db.queries.standing import shelving

    key = _key(fingerprint)
    who, reason = terminal.required(by, "--by"), terminal.required(why, "--why", 4000)
    zone = terminal.zone()
    until_when(until, zone, datetime.now(UTC))  # what cannot be right is said without a database
    with terminal.opened() as database, database.writing() as session:
        now = clock.now(session)
        end = until_when(until, zone, now)
        shelved = shelving.shelve(session, key, end, who, reason, now)
    open_order = f"; {shelved['order_id']} stays as it is" if shelved["order_id"] else ""
    typer.echo(
        f"{_fault(shelved)}: until {_local(end, zone)} its alarms are kept and counted, and make no work "
        f"order; what has not been cleared by then gets its order{open_order}"
    )


@app.command()
def unshelve(
    fingerprint: Fingerprint,
    by: Annotated[str, typer.Option("--by", metavar="WHO", help="Who does it.")],
) -> None:
    """End a shelving before its time."""
    from db.queries import clock
    from db.queries.standing import shelving

    key, who = _key(fingerprint), terminal.required(by, "--by")
    with terminal.opened() as database, database.writing() as session:
        ended = shelving.unshelve(session, key, who, clock.now(session))
    kept = "1 alarm was" if ended["kept_back"] == 1 else f"{ended['kept_back'] or 'no'} alarms were"
    then = "; what has not been cleared gets its order within seconds" if ended["kept_back"] else ""
    typer.echo(f"{_fault(ended)}: no longer shelved, by {who}; {kept} kept back{then}")


@app.command("shelved")
def list_(
    everything: Annotated[bool, typer.Option("--all", help="Also what is not shelved any more.")] = False,
    as_json: terminal.AsJson = False,
) -> None:
    """List what is shelved, until when, by whom and why, and how many alarms that kept back."""
    from db.queries import clock
    from db.queries.standing import shelving

    zone = terminal.zone()
    with terminal.opened() as database, database.reading() as session:
        found = shelving.list_shelved(session, clock.now(session), everything)
        where = terminal.place(database.url)
    if as_json:
        terminal.print_json(found)
    elif found:
        from db.views.tables import shelved_table

        console = terminal.terminal()
        console.print(shelved_table(found, zone, console.width))
    else:
        typer.echo(f"nothing {'was ever' if everything else 'is'} shelved in {where}")


def _key(given: str) -> str:
    key = terminal.required(given, "FINGERPRINT")
    if not _ORDER.fullmatch(key) and not _DIGITS.fullmatch(key):
        terminal.fail(
            f"FINGERPRINT {key!r} is none: give 8 to 64 hex digits, or an order's id, WO-20260804-0001",
            terminal.MISUSED,
        )
    return key


def until_when(given: str, zone: "ZoneInfo", now: datetime) -> datetime:
    """In the plant's zone, ahead of now, and not too far."""
    text = terminal.required(given, "--until")
    duration = _DURATION.fullmatch(text)
    if duration is not None:
        days, hours, minutes = (int(part or 0) for part in duration.groups())
        until = now + timedelta(days=days, hours=hours, minutes=minutes)
    else:
        until = _moment(text)
    if until <= now:
        terminal.fail(f"--until {text!r} is not in the future, it is {_local(now, zone)}", terminal.MISUSED)
    if until - now > LONGEST:
        terminal.fail(f"--until {text!r} is too far ahead, at most {LONGEST.days} days", terminal.MISUSED)
    return until.astimezone(zone)


def _moment(text: str) -> datetime:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        terminal.fail(
            f"--until {text!r} is neither a duration such as 8h, 30m or 1d12h, nor a time such as "
            "2026-08-04T18:30",
            terminal.MISUSED,
        )
    moment = terminal.moment(text, "--until")
    assert moment is not None
    return moment


def _local(moment: datetime, zone: "ZoneInfo") -> str:
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M} {zone.key}"


def _fault(shelving: dict[str, Any]) -> str:
    """What was shelved, as a line that an alarm's text cannot break."""
    from db.codes import FINGERPRINT_DIGITS
    from db.views.cells import plain

    facts = " ".join(shelving[name] for name in ("fault_code", "equipment", "line_name") if shelving[name])
    return f"{shelving['fingerprint'][:FINGERPRINT_DIGITS]} ({plain(facts).plain})"
