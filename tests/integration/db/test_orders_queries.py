"""Work orders as they are read and moved on, on both databases."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from db.errors import (
    AmbiguousEvent,
    ForbiddenTransition,
    NoOrderYet,
    StatusConflict,
    UnknownOrder,
)
from db.models.order import StepName
from db.queries.orders.reading import count_orders, lines, list_orders, show
from db.queries.orders.transitions import set_status
from db.session import Database
from tests.helpers.support import (
    NOW,
    accepted,
    an_alarm,
    an_order,
    at_once,
    claimed,
    eventually,
    only_postgresql,
    settled,
)

ORDER_KEYS = (
    "order_id event_id source line_name equipment fault_code native_code severity priority status "
    "diagnosis actions diagnosis_flags causes safety assignee shift parts planner handover_reason "
    "model_calls input_tokens output_tokens occurred_at created_at fingerprint occurrences first_at last_at "
    "cleared_at repeat_of flood alarms steps follow_ups history"
)
STEP_KEYS = ["step", "status", "subject", "arguments", "message", "calls", "suppressed_calls", "questions"]
PART_KEYS = ["number", "name", "matched_as", "score", "quantity", "unit", "location", "below_minimum"]
ALARM_KEYS = "fingerprint equipment fault_code native_code severity occurrences first_at last_at cleared_at"
FOLLOW_UP_KEYS = ["id", "kind", "step", "subject", "status", "owner", "reason", "opened_at"]


def made(database: Database, minutes: int = 0, draft: dict[str, Any] | None = None, **alarm: Any) -> str:
    """An order, settled so many minutes after NOW; its id."""
    then = NOW + timedelta(minutes=minutes)
    [row] = accepted(database, an_alarm(**alarm), now=then)
    return settled(database, row, claimed(database, row, then), an_order(**(draft or {})), then)


def found(database: Database, **wanted: Any) -> list[str]:
    with database.reading() as session:
        orders = [order["order_id"] for order in list_orders(session, **wanted)]
        assert count_orders(session, **{name: it for name, it in wanted.items() if name != "limit"}) >= len(
            orders
        )
    return orders


def test_an_order_is_shown_with_exactly_the_names_that_are_promised(database: Database) -> None:
    order_id = made(database, event_id="evt-1", fault_code="Err 401", occurred_at=NOW)
    with database.reading() as session:
        order = show(session, order_id)
    assert list(order) == ORDER_KEYS.split()
    assert [list(step) for step in order["steps"]] == [STEP_KEYS] * 4
    assert [list(part) for part in order["parts"]] == [PART_KEYS]
    assert [list(alarm) for alarm in order["alarms"]] == [ALARM_KEYS.split()]
    assert [list(follow_up) for follow_up in order["follow_ups"]] == [FOLLOW_UP_KEYS]
    assert [step["step"] for step in order["steps"]] == [step.value for step in StepName]
    assert [step["status"] for step in order["steps"]] == ["success", "not_found", "success", "success"]
    assert (order["fault_code"], order["native_code"]) == ("E401", "Err 401")
    assert (order["status"], order["event_id"], order["source"]) == ("Waiting", "evt-1", "plc-7")
    assert order["occurred_at"] == NOW
    assert order["created_at"].tzinfo is UTC
    assert [(change["from_status"], change["to_status"]) for change in order["history"]] == [
        (None, "Waiting")
    ]
    assert order["history"][0]["changed_by"] == "runbook"


def test_an_order_is_found_by_its_number_in_any_case_and_by_its_event(database: Database) -> None:
    order_id = made(database, event_id="evt-1")
    made(database, event_id="evt-2")
    with database.reading() as session:
        for key, source in [(order_id, None), (order_id.lower(), None), ("evt-1", None), ("evt-1", "plc-7")]:
            assert show(session, key, source)["order_id"] == order_id


@pytest.mark.parametrize(
    ("key", "source"),
    [("evt-9", None), ("evt-1", "plc-8"), ("WO-20260804-0001", "plc-8"), ("x" * 5000, None)],
)
def test_what_nobody_sent_is_unknown(database: Database, key: str, source: str | None) -> None:
    made(database, event_id="evt-1")
    with database.reading() as session, pytest.raises(UnknownOrder):
        show(session, key, source)


def test_an_event_id_that_two_sources_use_asks_for_the_source(database: Database) -> None:
    first = made(database, event_id="evt-1", source="plc-7")
    second = made(database, event_id="evt-1", source="边缘盒")
    with database.reading() as session:
        with pytest.raises(AmbiguousEvent) as ambiguous:
            show(session, "evt-1")
        assert sorted(ambiguous.value.sources) == ["plc-7", "边缘盒"]
        assert show(session, "evt-1", "plc-7")["order_id"] == first
        assert show(session, "evt-1", "边缘盒")["order_id"] == second


@pytest.mark.parametrize(("state", "status"), [("active", "waiting"), ("cleared", "stored")])
def test_an_event_without_an_order_says_where_it_stands(database: Database, state: str, status: str) -> None:
    accepted(database, an_alarm(event_id="evt-1", state=state))
    with database.reading() as session, pytest.raises(NoOrderYet, match=status) as without:
        show(session, "evt-1")
    assert without.value.status == status


def test_the_list_has_the_newest_first_and_no_more_than_the_limit(database: Database) -> None:
    orders = [made(database, minutes) for minutes in (5, 1, 9)]
    assert found(database) == [orders[2], orders[0], orders[1]]
    assert found(database, limit=2) == [orders[2], orders[0]]


def test_the_list_is_narrowed_by_line_status_time_and_planner(database: Database) -> None:
    plain = made(database, 0)
    other_line = made(database, 1, line_name="SMT 线2")
    by_model = made(database, 2, {"planner": "deepseek-chat"})
    with database.writing() as session:
        set_status(session, other_line, "Ready", "王芳", "", NOW)
    assert found(database, line="交互屏组装A线") == [by_model, plain]
    assert found(database, line="smt线２") == [other_line]
    assert found(database, line="没有这条线") == []
    assert found(database, status="Ready") == [other_line]
    assert found(database, since=NOW + timedelta(minutes=1)) == [by_model, other_line]
    assert found(database, planner="deepseek-chat") == [by_model]
    assert found(database, planner="deepseek") == []
    assert found(database, line="交互屏组装A线", planner="runbook", status="Waiting", since=NOW) == [plain]
    with database.reading() as session:
        assert sorted(lines(session)) == ["SMT 线2", "交互屏组装A线"]
        assert count_orders(session) == 3


def test_a_line_that_stands_there_is_not_mixed_with_one_that_is_written_alike(database: Database) -> None:
    spaced, tight = made(database, line_name="A 线"), made(database, 1, line_name="A线")
    assert found(database, line="A线") == [tight]
    assert found(database, line="A 线") == [spaced]
    assert found(database, line="a-线") == [tight, spaced]


def test_moving_an_order_keeps_who_when_and_why(database: Database) -> None:
    order_id = made(database)
    later = NOW + timedelta(hours=1)
    with database.writing() as session:
        set_status(session, order_id.lower(), "Ready", "王芳", "备件已到", later)
    with database.reading() as session:
        order = show(session, order_id)
    assert order["status"] == "Ready"
    assert order["history"][1:] == [
        {
            "from_status": "Waiting",
            "to_status": "Ready",
            "changed_by": "王芳",
            "note": "备件已到",
            "changed_at": later,
        }
    ]


def test_moving_an_order_that_is_not_there_is_refused(database: Database) -> None:
    made(database, event_id="evt-1")
    for key in ("WO-20260804-0009", "evt-1"):
        with pytest.raises(UnknownOrder), database.writing() as session:
            set_status(session, key, "Ready", "王芳", "", NOW)


def test_of_many_who_move_an_order_at_once_one_does_and_the_others_are_told(database: Database) -> None:
    order_id = made(database)

    def move(who: int) -> bool:
        try:
            with database.writing() as session:
                set_status(session, order_id, "Ready", f"person {who}", "", NOW)
        except (StatusConflict, ForbiddenTransition):
            return False
        return True

    assert sum(at_once(move, range(8))) == 1
    with database.reading() as session:
        assert [change["to_status"] for change in show(session, order_id)["history"]] == ["Waiting", "Ready"]


@only_postgresql
def test_who_comes_second_does_not_undo_what_the_first_one_did(database: Database) -> None:
    """Ready to Cancelled is allowed, but the second person saw a Waiting order."""
    order_id = made(database)

    def second() -> None:
        with database.writing() as session:
            set_status(session, order_id, "Cancelled", "李明", "", NOW)

    def is_waiting_for_the_first() -> bool:
        with database.reading() as session:
            query = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
            return bool(session.execute(query).scalar_one())

    with ThreadPoolExecutor(1) as threads:
        with database.writing() as session:
            set_status(session, order_id, "Ready", "王芳", "", NOW)
            outcome = threads.submit(second)
            eventually(is_waiting_for_the_first, 20)
        with pytest.raises(StatusConflict, match=r"Waiting.*Cancelled"):
            outcome.result(20)
    with database.reading() as session:
        order = show(session, order_id)
    assert order["status"] == "Ready"
    assert [change["changed_by"] for change in order["history"]] == ["runbook", "王芳"]
