"""From each status an order may go where ISA-95's job order goes, and nowhere else."""

from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from db.errors import ForbiddenTransition
from db.models import Base, WorkOrder
from db.models.order import OrderStatus
from db.queries.orders.transitions import TRANSITIONS, set_status

NOW = datetime(2026, 8, 4, 2, 30, tzinfo=UTC)

ALLOWED = """
Waiting     Ready Cancelled
Ready       Dispatched Held Cancelled
Dispatched  Running Held Cancelled
Running     Held Completed Cancelled
Held        Ready Running Cancelled
Completed   Closed Running
Cancelled   Closed
Closed
"""
ALLOWED_FROM = {first: onward for first, *onward in map(str.split, ALLOWED.strip().splitlines())}
PAIRS = [(before.value, after.value) for before in OrderStatus for after in OrderStatus]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as opened:
        yield opened
    engine.dispose()


@pytest.fixture
def order(session: Session) -> Iterator[WorkOrder]:
    row = WorkOrder(
        order_id="WO-20260804-0001",
        plant_date=date(2026, 8, 4),
        sequence=1,
        event_id="event-1",
        source="plc-7",
        line_name="交互屏组装A线",
        equipment="",
        fault_code="E401",
        native_code="E401",
        severity=700,
        priority=2,
        status=OrderStatus.WAITING,
        diagnosis="",
        actions=[],
        causes=[],
        safety=[],
        planner="runbook",
        model_calls=0,
        input_tokens=0,
        output_tokens=0,
        occurred_at=NOW,
        created_at=NOW,
    )
    session.add(row)
    session.flush()
    yield row
    session.rollback()


@pytest.mark.parametrize(("before", "after"), PAIRS, ids=str)
def test_an_order_goes_where_it_may_and_a_refusal_says_where_that_is(
    session: Session, order: WorkOrder, before: str, after: str
) -> None:
    order.status = OrderStatus(before)
    session.flush()
    if after in ALLOWED_FROM[before]:
        moved = set_status(session, order.order_id, after, "王芳", "备件已到", NOW)
        assert moved["status"] == after
        assert [tuple(change.values()) for change in moved["history"]] == [
            (before, after, "王芳", "备件已到", NOW)
        ]
        return
    with pytest.raises(ForbiddenTransition) as refused:
        set_status(session, order.order_id, after, "王芳", "", NOW)
    session.refresh(order)
    assert order.status == before
    assert order.history == []
    assert list(refused.value.allowed) == ALLOWED_FROM[before]
    assert all(word in str(refused.value) for word in [before, after, *ALLOWED_FROM[before]])


def test_every_status_has_its_line_in_the_table() -> None:
    assert set(TRANSITIONS) == set(OrderStatus)
