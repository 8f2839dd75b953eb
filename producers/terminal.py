"""What alarm-producer's commands share: their options, how they send, and how they end."""

import io
import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:  # pydantic and redis take longer to load than --help may take
    from producers.sending import Counts, Sender

NOT_TAKEN = 1
"""Exit code: there are events that neither the broker confirmed nor the spool keeps."""
BAD_INPUT = 2
"""Exit code: what was given cannot be right, and nothing was tried."""
SPOOLED = 3
"""Exit code: all that the broker did not confirm is in the spool."""
INTERRUPTED = 130

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Wait = Annotated[
    int,
    typer.Option(min=0, max=86_400, metavar="SECONDS", help="How long a broker that is away is tried again."),
]
SpoolFile = Annotated[
    str | None,
    typer.Option("--spool", metavar="FILE", help="Keeps what the broker does not take, and sends it first."),
]
SpoolMax = Annotated[
    int, typer.Option(min=1, max=10_000_000, metavar="EVENTS", help="How many events the spool may hold.")
]


class Utf8Group(TyperGroup):
    """Writes UTF-8 whatever the locale: line names are Chinese, and JSON is UTF-8."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        return super().main(*args, **kwargs)


class How(NamedTuple):
    """How a command was told to send and to print."""

    wait_seconds: int
    spool: str | None
    spool_max: int
    as_json: bool


@dataclass
class Sent:
    """What came of sending; `broker` and `spool` are their names for people."""

    broker: str
    spool: str
    counts: "Counts"
    drained: int = 0
    left: int | None = None
    """How many events the spool holds then, whoever put them there; None when it cannot be read."""
    first_entry_id: str | None = None
    last_entry_id: str | None = None
    error: str = ""
    interrupted: bool = False

    @property
    def code(self) -> int:
        if self.interrupted:
            return INTERRUPTED
        if self.counts.not_taken:
            return NOT_TAKEN
        return SPOOLED if self.counts.spooled else 0


def send(work: Callable[["Sender"], None], given: int, how: How) -> Sent:
    """Runs `work`, which hands `given` events to the sender, and waits for what the spool got of them."""

    def whole(sender: "Sender") -> None:
        work(sender)
        sender.finish()

    return _run(whole, given, how, make=True)


def drain(how: How) -> Sent:
    """Sends what is in the spool, which must be there."""
    return _run(lambda sender: sender.drain(), 0, how, make=False)


def _run(work: Callable[["Sender"], None], given: int, how: How, make: bool) -> Sent:
    from producers.queue import connect
    from producers.sending import Counts, NotTaken, Sender
    from producers.settings import SettingsError, broker_settings, redacted
    from producers.spool import NoSpool, Spool, SpoolError

    try:
        url = broker_settings().broker_url
    except SettingsError as error:
        fail(str(error), BAD_INPUT)
    broker = f"BROKER_URL {redacted(url)}"
    sent = Sent(broker, how.spool or "", Counts(0, 0, given))

    def say(what: str) -> None:
        sys.stderr.write(f"{broker}: {what}\n")  # which a bar that is drawn at the moment makes room for

    with connect(url) as client, ExitStack() as opened:
        try:
            spool = Spool(how.spool, how.spool_max, make=make) if how.spool is not None else None
        except NoSpool as error:
            fail(f"--spool: {error}; nothing was sent", BAD_INPUT)
        except SpoolError as error:
            sent.error = str(error)
            return sent
        if spool:
            opened.enter_context(closing(spool))
            sent.spool = spool.name
        sender = Sender(client, how.wait_seconds, spool, say)
        try:
            work(sender)
        except KeyboardInterrupt:
            sent.interrupted = True
        except NotTaken as error:
            sent.error = f"{broker}: {error}"
        except SpoolError as error:
            sent.error = str(error)
        else:
            sent.error = f"{broker}: {sender.trouble}" if sender.trouble else ""
        sent.counts = sender.counts(given)
        sent.left = sender.left()
    sent.drained = sender.drained
    sent.first_entry_id, sent.last_entry_id = sender.first_entry_id, sender.last_entry_id
    return sent


def end(sent: Sent, again: str, how: How, summary: dict[str, Any], text: str) -> None:
    """Prints what was sent, or what was not and how to send it `again`, and ends with the exit code."""
    if how.as_json:
        spool = {"spool": sent.spool, "drained": sent.drained} if how.spool is not None else {}
        typer.echo(json.dumps(summary | sent.counts._asdict() | spool, ensure_ascii=False))
    elif sent.code == 0:
        typer.echo(text)
        if sent.drained:
            typer.echo(f"{sent.drained} alarms that {sent.spool} held were confirmed first")
    if sent.code == 0:
        return
    confirmed, spooled, not_taken = sent.counts
    counted = [f"{confirmed} of {sum(sent.counts)} alarms confirmed"]
    if spooled:
        counted.append(f"{spooled} kept in {sent.spool}")
    if not_taken:
        counted.append(f"{not_taken} not taken")
        with_spool = f" --spool {shlex.quote(sent.spool)}" if sent.spool else ""
        how_again = (
            "To send the same events again is safe, what arrived already makes no second alarm. "
            f"The same again: {again}{with_spool}"
        )
    else:
        how_again = f"To send what is kept: {drain_command(sent.spool)}" if spooled else ""
    why = "stopped" if sent.interrupted else sent.error
    fail(f"{why}; {', '.join(counted)}. {how_again}".rstrip(". "), sent.code)


def end_drain(sent: Sent, as_json: bool) -> None:
    """The same for what the spool held before."""
    if as_json:
        summary = {"spool": sent.spool, "confirmed": sent.drained, "left": sent.left}
        typer.echo(json.dumps(summary, ensure_ascii=False))
    counted = f"{sent.drained} alarms of {sent.spool} confirmed"
    if sent.left:
        counted += f", {sent.left} still in it"
    if not (sent.interrupted or sent.error):
        if not as_json:
            typer.echo(counted)
        return
    code = INTERRUPTED if sent.interrupted else NOT_TAKEN if sent.left is None else SPOOLED
    why = "stopped" if sent.interrupted else sent.error
    fail(f"{why}; {counted}. The same again: {drain_command(sent.spool)}", code)


def drain_command(spool: str) -> str:
    return f"alarm-producer drain --spool {shlex.quote(spool)}"


@contextmanager
def progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr if a person looks at it."""
    if not sys.stderr.isatty():
        yield lambda sent: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("alarms"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        yield lambda sent: bar.advance(task, sent)


def fail(text: str, code: int) -> NoReturn:
    typer.echo(f"error: {text}", err=True)
    raise typer.Exit(code)
