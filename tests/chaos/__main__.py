"""The fault suite as one command: `python -m tests.chaos --help`."""

import logging
import shlex
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from tests.chaos import report, store
from tests.chaos.faults import ALL
from tests.chaos.soak import Soak
from tests.chaos.soak_report import document
from tests.chaos.suite import Suite

FAULTS = {fault.name: fault for fault in ALL}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


def _one_of(option: str, words: Sequence[str]) -> Any:
    def known(given: list[str] | None) -> list[str] | None:
        for word in given or []:
            if word not in words:
                raise typer.BadParameter(f"{word} is none of {', '.join(words)}")
        return given

    about = f"Only this one, of {', '.join(words)}; may be given again."
    return typer.Option(option, metavar="NAME", callback=known, help=about)


@app.callback(invoke_without_command=True)
def chaos(
    context: typer.Context,
    database: Annotated[list[str] | None, _one_of("--database", store.KINDS)] = None,
    fault: Annotated[list[str] | None, _one_of("--fault", list(FAULTS))] = None,
    short: Annotated[
        bool, typer.Option("--short", help="Few strikes, short outages; no times are judged.")
    ] = False,
    times: Annotated[
        int | None, typer.Option(min=1, help="Strikes of each fault, for its own number.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides what is struck when.")] = 4,
    rate: Annotated[float, typer.Option(min=0.1, max=100, help="Alarms a second.")] = 2,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it there too, .md or .json.")
    ] = None,
) -> None:
    """Break the running line in every way of the table, and see whether its books balance.

    Exits with 1 when a target was missed. Ctrl-C shows what there is.
    """
    if context.invoked_subcommand is not None:
        return
    suite = Suite([FAULTS[name] for name in FAULTS if not fault or name in fault], times, short, seed, rate)

    def all_of_them() -> None:
        for kind in database or store.KINDS:
            with Folder() as folder:
                before = len(suite.rows)
                suite.run(kind, folder.path)
                folder.keep = not all(row.held for row in suite.rows[before:])

    code = exit_code(all_of_them)
    sys.stdout.write(report.table(suite.rows) + "\n")
    if out is not None:
        report.write(suite.rows, command(), out)
    raise typer.Exit(code or int(not all(row.held for row in suite.rows)))


@app.command()
def soak(
    minutes: Annotated[float, typer.Option(min=0.1, help="How long faults are struck.")] = 60,
    rate: Annotated[float, typer.Option(min=0.1, max=100, help="Alarms a second.")] = 5,
    database: Annotated[list[str] | None, _one_of("--database", store.KINDS)] = None,
    seed: Annotated[int, typer.Option(help="Decides what is struck when.")] = 4,
    out: Annotated[Path | None, typer.Option(metavar="FILE.md", help="Write it there too.")] = None,
) -> None:
    """Strike all faults at random in one running stream, and see whether the books balance at its end."""
    found = Soak((database or store.KINDS)[0], minutes, rate, seed)

    def all_of_it() -> None:
        with Folder() as folder:
            found.run(folder.path)
            folder.keep = not found.held

    code = exit_code(all_of_it)
    text = document(found, command()) + "\n"
    sys.stdout.write(text)
    if out is not None:
        out.write_text(text, encoding="utf-8")
    raise typer.Exit(code or int(not found.held))


def exit_code(work: Callable[[], None]) -> int:
    """Of the work: what there is of it is shown, however it ends."""
    try:
        work()
    except KeyboardInterrupt:
        return 130
    except Exception:
        traceback.print_exc()
        return 1
    return 0


class Folder:
    """For the logs and the data of a line; kept when there is something to look into."""

    keep = True

    def __enter__(self) -> "Folder":
        self.path = Path(tempfile.mkdtemp(prefix="andon-chaos-"))
        return self

    def __exit__(self, *_exc: object) -> None:
        if self.keep:
            sys.stderr.write(f"the workers' logs are in {self.path}\n")
        else:
            shutil.rmtree(self.path, ignore_errors=True)


def command() -> str:
    """As it was typed."""
    return shlex.join(["python", "-m", "tests.chaos", *sys.argv[1:]])


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    logging.basicConfig(level=logging.WARNING)
    app(prog_name="python -m tests.chaos")
