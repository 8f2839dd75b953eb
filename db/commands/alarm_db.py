"""The command `alarm-db`: makes the tables, tells whether they are there, and loads the plant's data."""

from pathlib import Path
from typing import Annotated

import typer

from db import terminal

app = typer.Typer(
    help="The database that DATABASE_URL names: make its tables, check them, load the plant's data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # Rich's help takes twice the time
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

WORDS = {
    "equipment": "pieces of equipment",
    "manual_entry": "manual entries",
    "roster_entry": "roster entries",
    "spare_part": "spare parts",
}


@app.callback()
def _start() -> None:
    terminal.begin("sqlalchemy")


@app.command()
def upgrade(as_json: AsJson = False) -> None:
    """Bring the tables to this version, wholly or not at all; a SQLite file that is not there is made."""
    from db import migrate

    with terminal.opened(make=True, at_head=False) as database:
        before = migrate.current(database)
        migrate.upgrade(database)
        after = migrate.current(database)
        where = terminal.place(database.url)
    if as_json:
        terminal.print_json({"database": where, "from": before, "revision": after})
    elif before == after:
        typer.echo(f"{where} is at revision {after} already")
    else:
        typer.echo(f"{where} is now at revision {after}" + (f", from {before}" if before else ""))


@app.command()
def check(as_json: AsJson = False) -> None:
    """Say whether the tables are those that this version wants; exit code 1 when they are not."""
    from db import migrate
    from db.errors import SchemaError

    with terminal.opened(at_head=False) as database:
        where = terminal.place(database.url)
        head, current = migrate.head(database), migrate.current(database)
        if as_json:
            at_head = current == head
            facts = {"database": where, "revision": current, "head": head, "at_head": at_head}
            terminal.print_json(facts)
            raise typer.Exit(0 if at_head else terminal.WRONG)
        try:
            migrate.require_head(database)
        except SchemaError as error:
            terminal.fail(error)
    typer.echo(f"{where} is at revision {head}, as this version wants")


@app.command()
def load(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="A folder with the four files; without it, the sample plant."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replace what the database knows of the plant by four CSV files, all of it or nothing.

    They are UTF-8, with a header; a list has | between its items. A row that is wrong is named by file,
    line and column.

    equipment.csv: line_name, name, equipment_class, leader

    manual.csv: fault_code, equipment_class, title, symptoms, causes, safety, steps, parts (the last four
    are lists; parts by number or name)

    roster.csv: line_name, shift_date, shift_name, starts, ends, person, phone. A shift that ends before it
    starts crosses midnight. A shift_date is 2026-08-04, today, today+3, or a range: today-2..today+14;
    today is the day of loading, in PLANT_TIMEZONE.

    spare_parts.csv: number, name, aliases (a list), quantity, unit, location, minimum
    """
    from datetime import UTC, datetime

    from db import plant
    from db.errors import PlantDataError

    zone = terminal.zone()
    chosen = plant.SAMPLE if folder is None else folder.expanduser().resolve()
    with terminal.opened() as database:
        where = terminal.place(database.url)
        try:
            rows = plant.load(database, chosen, zone, datetime.now(UTC))
        except PlantDataError as error:
            found = "1 problem" if error.total == 1 else f"{error.total} problems"
            typer.echo(f"error: {found} in {chosen}; nothing was changed\n{error}", err=True)
            raise typer.Exit(terminal.WRONG) from None
    if as_json:
        terminal.print_json({"database": where, "folder": str(chosen), "rows": rows})
        return
    typer.echo(f"{where} now holds the plant of {chosen}:")
    for table, count in rows.items():
        typer.echo(f"{count:>8,} {WORDS[table]}")
