"""`alarm-worker status` in terminals of several widths."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from db.views.books import books_view

NOW = datetime(2026, 8, 4, 2, 30, tzinfo=UTC)


def the_books(**overrides: Any) -> dict[str, Any]:
    alarms = {"waiting": 12, "dispatched": 4, "running": 16, "poison": 1}
    facts: dict[str, Any] = {
        "alarms": alarms | {"settled": 1204, "attached": 98020, "shelved": 3, "stored": 532},
        "active": 99260,
        "cleared": 512,
        "historical": 20,
        "opened": 1204,
        "attached": 98020,
        "shelved": 3,
        "open": 33,
        "poison": 1,
        "rejected": {"open": 7, "retried": 2, "dropped": 1},
        "orders": 1204,
        "orders_open": 37,
        "standing": 37,
        "floods": 1,
        "shelvings": 2,
        "balanced": True,
        "amiss": [],
        "oldest_open_at": {"waiting": NOW - timedelta(seconds=3), "poison": NOW - timedelta(hours=5)},
        "newest_alarm_at": NOW - timedelta(minutes=4),
        "broker": {"stream": 8, "pending": 5, "tasks": 4, "error": None},
    }
    return facts | overrides


def printed(books: dict[str, Any], width: int = 80) -> list[str]:
    console = Console(width=width, markup=False, highlight=False, emoji=False, color_system=None)
    with console.capture() as capture:
        console.print(books_view(books, NOW))
    return capture.get().splitlines()


def line(books: dict[str, Any], what: str) -> list[str]:
    """The words of the row that begins so."""
    [found] = [words for row in printed(books) if (words := row.split()) and words[0] == what]
    return found


def test_every_status_has_its_number_and_the_open_ones_their_age() -> None:
    assert " ".join(line(the_books(), "waiting")) == "waiting 12 the oldest came 3 s ago"
    assert " ".join(line(the_books(), "poison")) == (
        "poison 1 the oldest came 5 h ago; see `alarm-worker poison list`"
    )
    assert line(the_books(), "attached")[:2] == ["attached", "98,020"]
    assert " ".join(line(the_books(), "stored")) == "stored 532 512 cleared, 20 historical: no order"
    assert any("the newest came 4 min ago" in row for row in printed(the_books()))


def test_what_is_said_beside_the_numbers_stands_below_no_other_head() -> None:
    head, _, first, *_ = printed(the_books())
    assert head.split() == ["Alarms", "Number"]
    assert cell_len(head.rstrip()) < first.index("the oldest")


def test_what_there_is_none_of_is_a_dash_and_says_nothing() -> None:
    books = the_books(shelvings=0, rejected={"open": 0, "retried": 0, "dropped": 0})
    assert line(books, "shelvings") == ["shelvings", "-"]
    assert line(books, "rejected") == ["rejected", "-"]
    assert not any(row.startswith("closed") for row in printed(books))


def test_rejected_ones_are_seen_with_what_became_of_the_others() -> None:
    assert " ".join(line(the_books(), "rejected")) == "rejected 7 see `alarm-worker rejected list`"
    assert " ".join(line(the_books(), "closed")) == "closed 3 of the rejected: 2 retried, 1 dropped"


def test_the_broker_has_its_lines_and_one_that_does_not_answer_says_why() -> None:
    assert " ".join(line(the_books(), "stream")) == "stream 8 5 of them with an intake"
    assert line(the_books(), "tasks")[:2] == ["tasks", "4"]
    away = {"stream": None, "pending": None, "tasks": None, "error": "ConnectionError: \x1b[31mrefused"}
    shown = " ".join(line(the_books(broker=away), "broker"))
    assert shown.startswith("broker cannot be asked: ConnectionError:")
    assert "\x1b" not in shown


def test_the_last_lines_say_whether_the_books_balance() -> None:
    sums = "99,260 active alarms = 1,204 opened an order + 98,020 attached to one + 3 shelved + 33 open"
    assert printed(the_books(), 120)[-2:] == [sums, "the books balance"]
    wrong = the_books(balanced=False, amiss=["1 settled alarms have no order", "2 orders belong to no alarm"])
    said = "the books do not balance: 1 settled alarms have no order; 2 orders belong to no alarm"
    assert printed(wrong, 120)[-1] == said


def test_an_empty_line_balances() -> None:
    nothing = dict.fromkeys(the_books()["alarms"], 0)
    books = the_books(alarms=nothing, active=0, opened=0, attached=0, shelved=0, open=0)
    assert printed(books)[-2:] == ["0 active alarms", "the books balance"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(cell_len(row) <= width for row in printed(the_books(), width))


@pytest.mark.parametrize(
    ("seconds", "said"), [(-5, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172_800, "2 d")]
)
def test_an_age_is_said_in_the_largest_unit_that_there_are_two_of(seconds: int, said: str) -> None:
    books = the_books(newest_alarm_at=NOW - timedelta(seconds=seconds))
    assert any(f"the newest came {said} ago" in row for row in printed(books))
