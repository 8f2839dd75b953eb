"""What an order says of its repeats, clears and flood, on both databases."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from db.codes import fingerprint
from db.queries.orders.reading import list_orders, show
from db.queries.standing import occurrences
from db.session import Database
from tests.helpers import standing_rows
from tests.helpers.support import NOW, accepted, an_alarm, claimed, settled
from tests.helpers.work_orders import made

MINUTE = timedelta(minutes=1)


def order(database: Database, order_id: str) -> dict[str, Any]:
    with database.reading() as session:
        shown = show(session, order_id)
        assert [one for one in list_orders(session) if one["order_id"] == order_id] == [shown]
    return shown


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """What is sent to the database meanwhile."""
    sent: list[str] = []

    def keep(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        sent.append(statement)

    event.listen(database.engine, "before_cursor_execute", keep)
    try:
        yield sent
    finally:
        event.remove(database.engine, "before_cursor_execute", keep)


def test_an_order_that_came_once_has_one_row_and_it_is_its_own(database: Database) -> None:
    shown = order(database, made(database, equipment="贴合机 A1", fault_code="Err 401", severity=650))
    own = fingerprint("交互屏组装A线", "贴合机 A1", "Err 401")
    assert (shown["fingerprint"], shown["occurrences"]) == (own, 1)
    assert (shown["first_at"], shown["last_at"], shown["cleared_at"]) == (NOW, NOW, None)
    assert (shown["repeat_of"], shown["flood"]) == (None, None)
    assert shown["alarms"] == [
        {
            "fingerprint": own,
            "equipment": "贴合机 A1",
            "fault_code": "E401",
            "native_code": "Err 401",
            "severity": 650,
            "occurrences": 1,
            "first_at": NOW,
            "last_at": NOW,
            "cleared_at": None,
        }
    ]


def test_an_order_that_was_made_before_standing_alarms_were_kept_looks_the_same(database: Database) -> None:
    order_id = made(database, equipment="贴合机 A1", fault_code="Err 401", severity=650)
    before = order(database, order_id)
    standing_rows.forgotten(database)
    assert order(database, order_id) == before
    standing_rows.stands(database, order_id, occurrences=4)
    shown = order(database, order_id)
    assert (shown["alarms"][0], len(shown["alarms"])) == (before["alarms"][0], 2)
    assert (shown["occurrences"], shown["cleared_at"]) == (5, None)


def test_what_comes_while_the_order_is_open_is_counted_with_its_times(database: Database) -> None:
    order_id = made(database, equipment="贴合机")
    again = [an_alarm(equipment="贴合机", occurred_at=NOW + minutes * MINUTE) for minutes in (7, 3, -2)]
    accepted(database, *again, now=NOW + 8 * MINUTE)
    shown = order(database, order_id)
    assert (shown["occurrences"], shown["occurred_at"]) == (4, NOW)
    assert (shown["first_at"], shown["last_at"]) == (NOW - 2 * MINUTE, NOW + 7 * MINUTE)
    [row] = shown["alarms"]
    assert [row[name] for name in ("occurrences", "first_at", "last_at")] == [
        shown[name] for name in ("occurrences", "first_at", "last_at")
    ]


def test_an_order_is_cleared_when_each_of_its_alarms_is_and_since_the_last_of_them(
    database: Database,
) -> None:
    order_id = made(database, equipment="贴合机")
    accepted(database, an_alarm(equipment="贴合机", state="cleared", occurred_at=NOW + MINUTE))
    assert order(database, order_id)["cleared_at"] == NOW + MINUTE
    standing_rows.stands(database, order_id)
    shown = order(database, order_id)
    assert shown["cleared_at"] is None
    assert [row["cleared_at"] for row in shown["alarms"]] == [NOW + MINUTE, None]
    standing_rows.changed(database, order_id, cleared_at=NOW)
    standing_rows.stands(database, order_id, cleared_at=NOW + 2 * MINUTE)
    assert order(database, order_id)["cleared_at"] == NOW + 2 * MINUTE


def test_a_refire_names_the_order_that_ended_before(database: Database) -> None:
    first, second = made(database), made(database, 1)
    number = int(first.rsplit("-", 1)[1])
    standing_rows.changed(database, second, repeat_of=number)
    assert order(database, second)["repeat_of"] == first
    assert order(database, first)["repeat_of"] is None


def test_of_a_flood_only_the_opening_alarm_makes_the_order_a_repeat(database: Database) -> None:
    first, second = made(database), made(database, 1)
    standing_rows.stands(database, second, repeat_of=int(first.rsplit("-", 1)[1]))
    assert order(database, second)["repeat_of"] is None


def test_a_flood_has_a_row_for_each_of_its_alarms_the_first_one_on_top(database: Database) -> None:
    [first_out] = accepted(database, an_alarm(event_id="evt-1", source="边缘盒", equipment="供钉直轨"))
    order_id = made(database, event_id="leads", equipment="贴合机")
    standing_rows.a_flood(database, order_id, first_out)
    codes = {"fault_code": "Err 7", "code_key": "E7"}
    late = standing_rows.stands(database, order_id, first_at=NOW + 2 * MINUTE, occurrences=20)
    early = standing_rows.stands(database, order_id, first_at=NOW - MINUTE, last_at=NOW + 9 * MINUTE, **codes)
    shown = order(database, order_id)
    assert [row["fingerprint"] for row in shown["alarms"]] == [early, shown["fingerprint"], late]
    assert [row["fault_code"] for row in shown["alarms"]][:2] == ["E7", "E401"]
    assert [row["native_code"] for row in shown["alarms"]][:2] == ["Err 7", "E401"]
    assert (shown["occurrences"], shown["first_at"]) == (22, NOW - MINUTE)
    assert shown["last_at"] == NOW + 9 * MINUTE
    assert shown["flood"] == {
        "line_name": "交互屏组装A线",
        "first_out": {
            "event_id": "evt-1",
            "source": "边缘盒",
            "equipment": "供钉直轨",
            "fault_code": "E401",
            "order_id": None,
        },
        "started_at": NOW,
        "ended_at": None,
    }


def test_the_first_out_alarm_names_its_order_whether_it_opened_it_or_is_part_of_it(
    database: Database,
) -> None:
    [opened] = accepted(database, an_alarm(equipment="供钉直轨"))
    [attached] = accepted(database, an_alarm(equipment="供钉直轨"))
    order_id = made(database)
    standing_rows.a_flood(database, order_id, opened, ended_at=NOW)
    first = settled(database, opened, claimed(database, opened))
    assert order(database, order_id)["flood"]["first_out"]["order_id"] == first
    standing_rows.a_flood(database, order_id, attached)
    last = order(database, order_id)["flood"]
    assert (last["first_out"]["order_id"], last["ended_at"]) == (first, None)
    assert order(database, first)["flood"] is None


def test_a_list_takes_as_many_statements_for_forty_orders_as_for_two(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = [made(database) for _ in range(2)]
    with statements(database) as few, database.reading() as session:
        list_orders(session)
    for _ in range(38):
        orders.append(made(database))
        standing_rows.stands(database, orders[-1], repeat_of=1)
        standing_rows.a_flood(database, orders[-1], 1, line_key=orders[-1])
    with statements(database) as many, database.reading() as session:
        listed = list_orders(session)
    assert len(listed) == 40
    assert len(many) == len(few) <= 9
    monkeypatch.setattr(occurrences, "_CHUNK", 7)
    with database.reading() as session:
        assert list_orders(session) == listed
