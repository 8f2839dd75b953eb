"""Work orders and follow-ups as tables for a terminal, with times in the plant's time zone.

Their width is the terminal's own unless it is given.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo

from rich.table import Table
from rich.text import Text

from db.codes import FINGERPRINT_DIGITS
from db.models.alarm import RejectedStatus
from db.models.follow_up import FollowUpStatus
from db.models.order import StepStatus
from db.views.cells import (
    CLEARED,
    DOUBT,
    FAINT,
    FLOOD,
    Row,
    faint,
    local,
    mark,
    number,
    plain,
    priority,
    short,
    spaced,
    status_text,
)
from db.views.columns import Column, fitted_table

COUNT = "#"
"""The head of the column that says how often the faults of an order occurred."""
_COUNT_MARKS: dict[str, tuple[str, Callable[[Row], bool]]] = {
    FLOOD: ("flood", lambda order: order["flood"] is not None),
    CLEARED: ("cleared", lambda order: order["cleared_at"] is not None),
}
"""What stands beside the number of occurrences."""


def orders_table(orders: Sequence[Row], zone: tzinfo, width: int | None = None) -> Table:
    """One line an order; what its marks mean stands below. How often the faults occurred has a column only
    when there is something to say of one beyond that it came once."""
    count = [Column(COUNT, _occurrences, rank=1)]
    columns = [
        Column("Order", _order),
        Column("Time", lambda o: Text(local(o["created_at"], zone, "%H:%M")), rank=4),
        Column("P", lambda o: priority(o["priority"]), rank=2),
        Column("Status", lambda o: status_text(o["status"])),
        Column("Line", lambda o: short(o["line_name"]), least=13),
        Column("Equipment", lambda o: short(o["equipment"]), rank=6, least=14),
        Column("Code", lambda o: short(o["fault_code"]), least=5),
        *(count if any(map(_counts, orders)) else []),
        Column("Assignee", lambda o: short(o["assignee"]), rank=5, least=8),
        Column("Steps", lambda o: Text().join(mark(step["status"]) for step in o["steps"]), rank=3),
        Column("Open", _open_follow_ups, rank=8, justify="right"),
        Column("Planner", _planner, rank=7, least=9),
    ]
    return fitted_table(orders, columns, width, lambda heads: _legend(orders, heads))


def follow_ups_table(follow_ups: Sequence[Row], zone: tzinfo, width: int | None = None) -> Table:
    """One row a missing fact. The status has a column only when one of them is not open."""
    status = [Column("Status", lambda f: status_text(f["status"]))]
    columns = [
        Column("Id", lambda f: Text(str(f["id"]), style="bold"), justify="right"),
        *(status if any(f["status"] != FollowUpStatus.OPEN for f in follow_ups) else []),
        Column("Kind", lambda f: Text(spaced(f["kind"])), rank=1),
        Column("Step", lambda f: Text(f["step"]), rank=2),
        Column("Subject", lambda f: plain(f["subject"]), least=13),
        Column("To supply", lambda f: plain(f["owner"]), least=10),
        Column("Reason", lambda f: plain(f["reason"]), rank=5, least=30),
        Column("Orders", lambda f: number(len(f.get("order_ids", ()))), rank=4, justify="right"),
        Column("Opened", lambda f: Text(local(f["opened_at"], zone, "%m-%d %H:%M")), rank=3),
    ]
    return fitted_table(follow_ups, columns, width)


def rejected_table(rejected: Sequence[Row], zone: tzinfo, width: int | None = None) -> Table:
    """One row a stream entry that could not become an alarm. The status has a column when one is closed."""
    closed = [
        Column("Status", lambda r: status_text(r["status"])),
        Column("By", lambda r: short(r["closed_by"]), rank=3, least=8),
    ]
    columns = [
        Column("Id", lambda r: Text(str(r["id"]), style="bold"), justify="right"),
        *(closed if any(row["status"] != RejectedStatus.OPEN for row in rejected) else []),
        Column("Received", lambda r: Text(local(r["received_at"], zone, "%m-%d %H:%M"))),
        Column("Reason", lambda r: Text(r["reason"], style="red")),
        Column("Detail", lambda r: plain(r["detail"]), least=24),
        Column("Bytes", lambda r: number(r["raw_bytes"]), rank=1, justify="right"),
        Column("Entry", lambda r: short(r["entry_id"]), rank=2),
    ]
    return fitted_table(rejected, columns, width)


def shelved_table(shelvings: Sequence[Row], zone: tzinfo, width: int | None = None) -> Table:
    """One row a shelving. How it ended has a column only when one of them has, or is to."""
    ended = [
        Column("Ended", lambda s: _moment(s["ended_at"], zone)),
        Column("Ended by", _ended_by, rank=4, least=8),
    ]
    columns = [
        Column("Fingerprint", lambda s: Text(s["fingerprint"][:FINGERPRINT_DIGITS], style="bold")),
        Column("Code", lambda s: short(s["fault_code"]), least=5),
        Column("Line", lambda s: short(s["line_name"]), rank=5, least=13),
        Column("Equipment", lambda s: short(s["equipment"]), rank=1, least=10),
        Column("Until", lambda s: _moment(s["until"], zone)),
        *(ended if any(s["ended_at"] or s["ended_by"] for s in shelvings) else []),
        Column("By", lambda s: short(s["shelved_by"]), rank=3, least=6),
        Column("Kept back", lambda s: number(s["kept_back"]), justify="right"),
        Column("Why", lambda s: plain(s["why"]), rank=2, least=10),
    ]
    return fitted_table(shelvings, columns, width)


def _order(order: Row) -> Text:
    doubt = (f" {DOUBT}", "bold yellow") if order["diagnosis_flags"] else ""
    return Text.assemble((order["order_id"], "bold"), doubt)


def _occurrences(order: Row) -> Text:
    several = order["occurrences"] > 1
    marks = [sign for sign, (_, is_so) in _COUNT_MARKS.items() if is_so(order)]
    said = [Text(f"{order['occurrences']:,}", style="yellow" if several else FAINT), *map(_count_mark, marks)]
    return Text(" ").join(said)


def _counts(order: Row) -> bool:
    return order["occurrences"] > 1 or any(is_so(order) for _, is_so in _COUNT_MARKS.values())


def _count_mark(sign: str) -> Text:
    return Text(sign, style="green" if sign == CLEARED else "bold yellow")


def _ended_by(shelving: Row) -> Text:
    by_itself = shelving["ended_at"] is not None and shelving["ended_by"] is None
    return Text("by itself", style=FAINT) if by_itself else short(shelving["ended_by"])


def _moment(moment: datetime | None, zone: tzinfo) -> Text:
    return plain(None if moment is None else local(moment, zone, "%m-%d %H:%M"))


def _open_follow_ups(order: Row) -> Text:
    return number(sum(one["status"] == FollowUpStatus.OPEN for one in order["follow_ups"]), "yellow")


def _planner(order: Row) -> Text:
    if order["handover_reason"] is None:
        return short(order["planner"])
    return short(f"{order['planner']} *", "yellow")


def _legend(orders: Sequence[Row], heads: set[str]) -> Text | None:
    met = {step["status"] for order in orders for step in order["steps"]}
    said = []
    if "Steps" in heads and met - {StepStatus.SUCCESS}:
        said.append(Text("Steps: manual, shift, parts, order"))
        said += [Text.assemble(mark(status), " ", spaced(status)) for status in StepStatus if status in met]
        said = [Text("   ").join(said)]
    if COUNT in heads:
        signs = [
            Text.assemble(_count_mark(sign), " ", word)
            for sign, (word, is_so) in _COUNT_MARKS.items()
            if any(map(is_so, orders))
        ]
        said.append(Text("   ").join([Text(f"{COUNT} occurrences"), *signs]))
    if any(order["diagnosis_flags"] for order in orders):
        said.append(
            Text.assemble((DOUBT, "bold yellow"), " its words name another line, code or order: see `show`")
        )
    if "Planner" in heads and any(order["handover_reason"] is not None for order in orders):
        said.append(Text.assemble(("*", "yellow"), " took over from the model"))
    return faint(Text("\n").join(said)) if said else None
