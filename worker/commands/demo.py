"""`alarm-worker demo`: the whole line on this machine, from pushed alarms to work orders."""

import contextlib
import os
import shlex
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from db import terminal
from db.settings import PlantSettings, settings_or_exit
from worker.process.celery_command import worker_command
from worker.process.embedded import EmbeddedServerError, EmbeddedValkey
from worker.process.keeping import StopSignals, ended_by
from worker.process.owned import end_owned, start_owned
from worker.settings import AgentSettings, WorkerSettings

if TYPE_CHECKING:
    from db.session import Database

FOLDER = Path("var/demo")
ALARMS = 14  # two of them clear another one, which makes no order, and one is a repeat, which is part of one
SEED = 56
DEADLINE_SECONDS = 60.0
GRACE_SECONDS = 5


class DemoError(Exception):
    """Raised when the demo cannot show what it should; its text says why."""


class Stopped(Exception):
    """Raised between two steps when somebody wants the demo to end."""


def run() -> int:
    """Its exit code. However it ends, nothing is left running."""
    for settings in (PlantSettings, AgentSettings, WorkerSettings):
        settings_or_exit(settings)
    console = Console(highlight=False, markup=False, emoji=False)
    with StopSignals() as stop:
        try:
            _demo(console, stop)
        except Stopped:
            console.print("Stopped; nothing is left running.")
            return stop.exit_code
        except (DemoError, EmbeddedServerError) as error:
            console.print(f"The demo failed: {error}", style="red")
            return 1
    return 0


def _demo(console: Console, stop: StopSignals) -> None:
    folder = FOLDER.resolve()
    began = time.monotonic()
    with _valkey(folder) as valkey, _database(folder) as database:
        _go_on(stop)
        valkey.wait_until_ready()
        environment = {
            "DATABASE_URL": _url(folder),
            "BROKER_URL": valkey.url,
            "STOP_GRACE_SECONDS": str(GRACE_SECONDS),
        }
        log = folder / "worker.log"
        with _worker(log, environment) as worker:
            alarms = _push(valkey.url)
            orders = _wait_for_orders(console, stop, database, alarms, worker, log)
            _show(console, database)
    seconds = time.monotonic() - began
    console.print(f"\n{alarms} alarms became {orders} work orders in {seconds:.0f} s. To look closer:")
    _print_commands(console, folder)


@contextlib.contextmanager
def _valkey(folder: Path) -> Iterator[EmbeddedValkey]:
    valkey = EmbeddedValkey(folder / "valkey")
    try:
        valkey.take()  # a demo that still runs must not lose its folder
        _refuse_if_open(folder / "andon.db")
        _wipe(folder)
        valkey.start()
        yield valkey
    finally:
        valkey.stop()


def _refuse_if_open(file: Path) -> None:
    """Whoever has the file open would go on writing into one that is nowhere any more."""
    if not file.exists():
        return
    try:
        with contextlib.closing(sqlite3.connect(file, timeout=0)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")  # only who is alone with it may do that
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname not in ("SQLITE_BUSY", "SQLITE_LOCKED"):
            raise DemoError(f"{file} cannot be opened: {error}") from None
        raise DemoError(
            f"{file} is open in another process, which was given it as DATABASE_URL; end that one first, "
            "since each demo begins with an empty database"
        ) from None
    except sqlite3.DatabaseError:
        return  # it is none


def _wipe(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):  # what is inside comes before its folder
        if path.suffix == ".lock":
            continue
        if path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError):  # a lock is in it
                path.rmdir()
        else:
            path.unlink()


@contextlib.contextmanager
def _database(folder: Path) -> Iterator["Database"]:
    """The demo's database, with the sample plant in it."""
    from db.migrate import upgrade
    from db.plant import load
    from db.session import Database

    database = Database(_url(folder))
    try:
        upgrade(database)
        load(database, None)
        yield database
    finally:
        database.close()


@contextlib.contextmanager
def _worker(log: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        worker = start_owned(worker_command(), environment={**os.environ, **environment}, output=output)
    try:
        yield worker
    finally:
        end_owned(worker, GRACE_SECONDS + 10)


def _push(broker_url: str) -> int:
    """Pushes the demo's alarms; how many of them want a work order, of their own or to be part of."""
    from producers.queue import connect, publish
    from producers.simulator import duration, simulate

    start = datetime.now(UTC) - duration(ALARMS, SEED)
    events = list(simulate(ALARMS, SEED, start))
    with contextlib.closing(connect(broker_url)) as broker:
        publish(broker, events)
    return sum(event.state == "active" for event in events)


def _wait_for_orders(
    console: Console,
    stop: StopSignals,
    database: "Database",
    alarms: int,
    worker: subprocess.Popen[bytes],
    log: Path,
) -> int:
    """Until each alarm has its work order; how many orders these are."""
    from db.queries.books import books

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    deadline = time.monotonic() + DEADLINE_SECONDS
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("the worker starts", total=alarms)
        while True:
            with database.reading() as session:
                counts = books(session)
            made = counts["opened"] + (0 if counts["open"] else counts["attached"])
            progress.update(bar, completed=made, description="alarms to work orders" if made else None)
            if made == alarms:
                return int(counts["orders"])
            if worker.poll() is not None:
                raise DemoError(f"the worker ended ({ended_by(worker.returncode)}). {_tail(log)}")
            if time.monotonic() >= deadline:
                wanted = f"{made} of {alarms} alarms have their work order after {DEADLINE_SECONDS:g} s"
                raise DemoError(f"{wanted}. {_tail(log)}")
            stop.wait(0.1)
            _go_on(stop)


def _show(console: Console, database: "Database") -> None:
    from db.queries.orders.follow_ups import list_follow_ups
    from db.queries.orders.reading import list_orders
    from db.views.tables import follow_ups_table, orders_table

    zone = terminal.zone()
    with database.reading() as session:
        orders: list[dict[str, Any]] = list_orders(session)
        follow_ups: list[dict[str, Any]] = list_follow_ups(session, open_only=True)
    console.print("\nWork orders")
    console.print(orders_table(orders, zone))
    console.print("\nOpen follow-ups: what was not found, for a person to supply")
    console.print(follow_ups_table(follow_ups, zone))


def _print_commands(console: Console, folder: Path) -> None:
    # Not exported: the next demo begins with an empty database, which is no place for a plant's own alarms.
    look = f"DATABASE_URL={shlex.quote(_url(folder))} {terminal.program('work-orders')}"
    for line in (
        f"{look} list",
        f"{look} follow-ups list --open",
        f"less {shlex.quote(str(folder / 'worker.log'))}",
    ):
        console.print(f"  {line}", soft_wrap=True)


def _url(folder: Path) -> str:
    from sqlalchemy import URL

    file = str(folder / "andon.db")
    if not set(file) & set("%?#"):
        return f"sqlite:///{file}"  # SQLAlchemy would write Chinese as %E4%BA%A4
    return URL.create("sqlite", database=file).render_as_string(hide_password=False)


def _go_on(stop: StopSignals) -> None:
    if stop.is_set():
        raise Stopped


def _tail(log: Path, lines: int = 15) -> str:
    text = log.read_text(errors="replace").splitlines()[-lines:]
    return f"{log} ends with:\n" + "\n".join(text)
