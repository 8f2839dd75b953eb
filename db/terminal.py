"""What all commands share: arguments checked, the database opened, and errors said in one line."""

import importlib.util
import io
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from rich.console import Console
    from sqlalchemy.engine import URL
    from sqlalchemy.exc import SQLAlchemyError

    from db.session import Database

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; times are ISO 8601 with their offset.")]

WRONG = 1
"""Exit code: the command was understood and could not be carried out."""
MISUSED = 2
"""Exit code: an argument cannot be right."""


def begin(package: str) -> None:
    """Before a command: Chinese must reach a terminal or a pipe whose locale is C, or an old one; and
    where `package` is not installed, as on a box that only sends alarms, that is said in one line."""
    if importlib.util.find_spec(package) is None and "--help" not in sys.argv:
        fail(f"this command needs {package}; install the project with its extra `worker`, see README")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def program(name: str) -> str:
    """As the user would call it: by its name where the shell finds it, else by its path."""
    beside = Path(sys.executable).parent / name
    if shutil.which(name) == str(beside) or not beside.exists():
        return name
    relative = os.path.relpath(beside)
    return shlex.quote(str(beside) if relative.startswith("..") else relative)


def fail(why: object, code: int = WRONG) -> NoReturn:
    """Say why in one line, and end."""
    typer.echo(f"error: {one_line(why)}", err=True)
    raise typer.Exit(code)


def one_line(text: object) -> str:
    return " ".join(str(text).split())


def words(value: str | None, name: str, longest: int = 200) -> str | None:
    """An optional argument without the space around it; blank, or not storable, it is refused."""
    return None if value is None else required(value, name, longest)


def required(value: str, name: str, longest: int = 200) -> str:
    text = _storable(value.strip(), name, longest)
    if not text:
        fail(f"{name} is blank", MISUSED)
    return text


def note(value: str) -> str:
    return _storable(value.strip(), "--note", 4000)


def _storable(text: str, name: str, longest: int) -> str:
    if "\0" in text:
        fail(f"{name} holds a NUL character, which cannot be stored", MISUSED)
    try:
        text.encode()
    except UnicodeEncodeError:
        fail(f"{name} is not valid text: it holds bytes that are not UTF-8", MISUSED)
    if len(text) > longest:
        fail(f"{name} is {len(text)} characters long; at most {longest} are kept", MISUSED)
    return text


def whole_number(value: str, name: str) -> int:
    given = required(value, name)
    try:
        return int(given)
    except ValueError:
        fail(f"{name} {given!r} is no whole number", MISUSED)


def one_of(value: str | None, name: str, allowed: Iterable[str]) -> str | None:
    """The allowed word that the argument is, whatever its case."""
    given = words(value, name)
    if given is None:
        return None
    known = list(allowed)
    for word in known:
        if word.casefold() == given.casefold():
            return word
    fail(f"{name} {given!r} is not one of {', '.join(known)}", MISUSED)


def moment(value: str | None, name: str) -> datetime | None:
    """An ISO date or date-time; what names no offset is in the plant's time zone."""
    given = words(value, name)
    if given is None:
        return None
    try:
        parsed = datetime.fromisoformat(given)
        aware = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=zone())
        aware.timestamp()
        if not 1 < aware.year < 9999:  # the ends of the calendar have no room for an offset
            raise ValueError
    except (ValueError, OverflowError):
        fail(f"{name} {given!r} is no date or time; use 2026-08-04 or 2026-08-04T08:30+08:00", MISUSED)
    return aware


def print_json(value: Any) -> None:
    """On stdout, Chinese as it is, times as ISO 8601 with their offset."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=_as_text))


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def terminal() -> "Console":
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False)


def zone() -> "ZoneInfo":
    """The plant's."""
    from db.settings import PlantSettings, settings_or_exit

    return settings_or_exit(PlantSettings).zone


@contextmanager
def opened(make: bool = False, at_head: bool = True) -> "Iterator[Database]":
    """The configured database; whatever is wrong with it ends in one line, to be not `at_head` too.

    A SQLite file that is not there is made only for `make`: a look must not leave an empty database behind.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import SQLAlchemyError

    from db.errors import DatabaseError
    from db.migrate import require_head
    from db.session import Database, redacted
    from db.settings import DatabaseSettings, settings_or_exit

    url = make_url(settings_or_exit(DatabaseSettings).database_url)
    try:
        file = sqlite_file(url)
        there = make or file is None or file.exists()
        where = place(url)
        database = Database(url.render_as_string(hide_password=False)) if there else None
    except (ImportError, OSError, RuntimeError, SQLAlchemyError) as error:
        fail(f"cannot use the database {redacted(url)}: {_cause(error, url)}; check DATABASE_URL")
    if database is None:
        fail(f"there is no database {where}; `alarm-db upgrade` makes it, DATABASE_URL names another")
    try:
        if at_head:
            require_head(database)
        yield database
    except DatabaseError as error:
        fail(error)
    except SQLAlchemyError as error:
        fail(_said(error, url))
    finally:
        database.close()


def place(url: "URL") -> str:
    """Where a database is, without any password."""
    from db.session import redacted

    return str(sqlite_file(url) or redacted(url))


def sqlite_file(url: "URL") -> Path | None:
    if url.get_backend_name() != "sqlite" or url.database is None:
        return None
    return Path(url.database).expanduser().resolve()


def _said(error: "SQLAlchemyError", url: "URL") -> str:
    cause = _cause(error, url)
    if "no such table" in cause or "UndefinedTable" in type(getattr(error, "orig", None)).__name__:
        return f"the database {place(url)} lacks a table ({cause}); `alarm-db upgrade` makes the tables"
    return f"cannot use the database {place(url)}: {cause}; check DATABASE_URL"


def _cause(error: Exception, url: "URL") -> str:
    """The first line of the driver's own words, without the password."""
    from db.session import secret_names

    [first, *_] = str(getattr(error, "orig", None) or error).splitlines() or [type(error).__name__]
    secrets = [url.password, *(url.query[name] for name in secret_names(url))]
    for secret in secrets:
        first = first.replace(str(secret), "***") if secret else first
    return first
