"""The books as a person reads them: where every alarm is, and whether all are accounted for."""

from collections.abc import Iterator
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Column
from rich.text import Text

from db.views.cells import Row, age, empty_table, faint, number, plain

_Line = tuple[str, Text, Text]


def books_view(books: Row, now: datetime) -> RenderableType:
    """What `alarm-worker status` gathers: the books, how old what waits is, and what lies in the broker."""
    table = empty_table([Column("Alarms"), Column("Number", justify="right"), Column("")])
    for line in _lines(books, now):
        table.add_row(*line)
    return Group(table, "", _verdict(books))


def _lines(books: Row, now: datetime) -> Iterator[_Line]:
    alarms, rejected, broker = books["alarms"], books["rejected"], books["broker"]
    newest = books["newest_alarm_at"]
    remarks = {
        "poison": "see `alarm-worker poison list`",
        "settled": "with an order of their own",
        "attached": "part of another alarm's order",
        "shelved": "their fingerprint was shelved",
        "stored": f"{books['cleared']:,} cleared, {books['historical']:,} historical: no order",
    }
    for status, count in alarms.items():
        oldest = books["oldest_open_at"].get(status)
        waited = "" if oldest is None else f"the oldest came {age(now - oldest)} ago"
        style = "bold red" if status == "poison" else ""
        yield _line(status, count, "; ".join(filter(None, [waited, remarks.get(status)])), style)
    yield _line("", None, "" if newest is None else f"the newest came {age(now - newest)} ago")
    yield _line("orders", books["orders"], f"{books['orders_open']:,} not ended")
    yield _line("standing", books["standing"], "faults whose order is open")
    yield _line("floods", books["floods"], "lines whose further alarms join one order")
    yield _line("shelvings", books["shelvings"], "see `work-orders shelved`")
    yield _line("rejected", rejected["open"], "see `alarm-worker rejected list`", style="yellow")
    if closed := rejected["retried"] + rejected["dropped"]:
        yield _line(
            "closed",
            closed,
            f"of the rejected: {rejected['retried']:,} retried, {rejected['dropped']:,} dropped",
        )
    yield _line("", None)
    if broker["error"] is not None:
        yield "broker", Text(), plain(f"cannot be asked: {broker['error']}", "red")
        return
    yield _line("stream", broker["stream"], f"{broker['pending']:,} of them with an intake")
    yield _line("tasks", broker["tasks"], "on the broker's lists, not taken by a worker")


def _line(what: str, count: int | None, remark: str = "", style: str = "") -> _Line:
    """A remark is made of what there is."""
    shown = Text() if count is None else number(count, style)
    return what, shown, faint(Text(remark if count != 0 else ""))


def _verdict(books: Row) -> Text:
    parts = {"opened": "opened an order", "attached": "attached to one", "shelved": "shelved", "open": "open"}
    sums = " + ".join(f"{books[part]:,} {words}" for part, words in parts.items() if books[part])
    if books["balanced"]:
        return Text.assemble(
            f"{books['active']:,} active alarms{' = ' if sums else ''}{sums}\n",
            ("the books balance", "bold green"),
        )
    return Text.assemble(("the books do not balance: ", "bold red"), "; ".join(books["amiss"]))
