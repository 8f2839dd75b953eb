"""A settlement is whole or not there, once per alarm, with numbers that follow each other."""

from dataclasses import replace
from datetime import date, timedelta

import pytest
from sqlalchemy import select, update

from db.errors import LeaseLost
from db.models import AgentRun, Alarm, OrderCounter, WorkOrder
from db.models.alarm import AlarmStatus, RunOutcome
from db.models.follow_up import FollowUpKind, FollowUpStatus
from db.models.order import OrderStatus, StepName, StepStatus
from db.queries.alarms.settle import PartDraft
from db.session import Database
from tests.helpers.support import (
    LEASE,
    NOW,
    a_follow_up,
    accepted,
    an_alarm,
    an_order,
    claimed,
    count,
    settled,
)


def test_an_order_holds_the_alarms_facts_and_the_drafts_words(database: Database) -> None:
    sent = an_alarm(fault_code="e-401", occurred_at=NOW - timedelta(minutes=3))
    [row] = accepted(database, sent)
    attempt = claimed(database, row)
    draft = an_order(
        shift={"at_alarm": None, "at_order": {"person": "李娜"}},
        assignee="李娜",
        planner="deepseek-chat",
        handover_reason="stuck",
        model_calls=5,
        input_tokens=4000,
        output_tokens=300,
    )
    assert settled(database, row, attempt, draft) == "WO-20260804-0001"
    with database.reading() as session:
        order = session.scalars(select(WorkOrder)).one()
        assert (order.event_id, order.source, order.line_name) == (sent.event_id, sent.source, sent.line_name)
        assert (order.equipment, order.fault_code, order.native_code) == (sent.equipment, "E401", "e-401")
        assert (order.severity, order.priority, order.status) == (700, 2, OrderStatus.WAITING)
        assert (order.diagnosis, order.actions) == (draft.diagnosis, draft.actions)
        assert (order.causes, order.safety) == (draft.causes, draft.safety)
        assert (order.assignee, order.shift) == ("李娜", draft.shift)
        assert (order.planner, order.handover_reason) == ("deepseek-chat", "stuck")
        assert (order.model_calls, order.input_tokens, order.output_tokens) == (5, 4000, 300)
        assert (order.occurred_at, order.created_at) == (sent.occurred_at, NOW)
        assert (order.plant_date, order.sequence) == (date(2026, 8, 4), 1)
        assert [step.step for step in order.steps] == list(StepName)
        assert [step.status.value for step in order.steps] == ["success", "not_found", "success", "success"]
        assert [step.position for step in order.steps] == [1, 2, 3, 4]
        [part] = order.parts
        assert (part.number, part.matched_as, part.quantity) == ("SP-1001", "触摸屏驱动", 0)
        assert part.below_minimum is True
        [first] = order.history
        assert (first.from_status, first.to_status, first.changed_by) == (None, "Waiting", "deepseek-chat")
        [follow_up] = order.follow_ups
        assert (follow_up.kind, follow_up.step) == (FollowUpKind.MISSING, "query_shift")
        assert (follow_up.status, follow_up.owner, follow_up.opened_at) == (
            FollowUpStatus.OPEN,
            "王班长",
            NOW,
        )
        alarm = session.get_one(Alarm, row)
        assert (alarm.status, alarm.work_order_id, alarm.lease_until) == (AlarmStatus.SETTLED, order.id, None)
        run = session.scalars(select(AgentRun)).one()
        assert (run.outcome, run.ended_at, run.planner) == (RunOutcome.SETTLED, NOW, "deepseek-chat")
        assert (run.handover_reason, run.model_calls, run.input_tokens) == ("stuck", 5, 4000)


def test_the_attempt_that_settled_gets_the_same_order_again(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    first = settled(database, row, attempt)
    again = settled(database, row, attempt, an_order(diagnosis="other"), NOW + 10 * LEASE)
    assert first == again
    with database.reading() as session:
        assert session.scalars(select(WorkOrder.diagnosis)).all() == [an_order().diagnosis]
    with pytest.raises(LeaseLost):
        settled(database, row, attempt + 1)
    with pytest.raises(LeaseLost):
        settled(database, row, attempt - 1)


def test_an_alarm_that_was_never_claimed_cannot_be_settled(database: Database) -> None:
    waiting, stored = accepted(database, an_alarm(), an_alarm(state="cleared"))
    for row in (waiting, stored, 999_999):
        with pytest.raises(LeaseLost):
            settled(database, row, 0)
    assert count(database, WorkOrder) == 0


def test_a_models_words_cannot_undo_the_settlement(database: Database) -> None:
    """NUL, lone surrogates, NaN, endless nesting and endless text: PostgreSQL refuses what SQLite keeps."""
    nested: list[object] = []
    for _ in range(500):
        nested = [nested]
    nasty = "nul \x00 surrogate \ud800 pair \ud83d\ude00 " + "长" * 5000
    step = replace(
        an_order().steps[1],
        subject=nasty,
        message=nasty,
        arguments={"date\x00": float("nan"), "deep": nested, nasty: [float("inf")]},
        questions=[{"a": nasty}],
    )
    draft = an_order(
        diagnosis=nasty,
        actions=[nasty],
        planner=nasty,
        assignee=nasty,
        handover_reason=nasty,
        shift={nasty: nasty},
        steps=[step],
        parts=[PartDraft(nasty, nasty, nasty, 0.5, 1, nasty, nasty, False)],
        follow_ups=[a_follow_up(subject=nasty, subject_key=nasty, owner=nasty, reason=nasty)],
    )
    [row] = accepted(database, an_alarm())
    settled(database, row, claimed(database, row), draft)
    with database.reading() as session:
        order = session.scalars(select(WorkOrder)).one()
        assert order.diagnosis.startswith("nul \ufffd surrogate \ufffd pair 😀 长")
        assert len(order.diagnosis) == len(nasty) - 1
        assert len(order.planner) == 200
        [kept] = order.steps
        assert kept.arguments["date\ufffd"] == "nan"
        assert kept.status is StepStatus.NOT_FOUND
        assert "长" in order.follow_ups[0].subject


def test_an_order_without_parts_or_follow_ups_is_an_order(database: Database) -> None:
    [row] = accepted(database, an_alarm())
    settled(database, row, claimed(database, row), an_order(parts=[], follow_ups=[], steps=[]))
    with database.reading() as session:
        order = session.scalars(select(WorkOrder)).one()
        assert (order.parts, order.follow_ups, order.steps, order.shift) == ([], [], [], None)


def test_a_settled_alarm_keeps_its_order_when_it_is_asked_for_after_a_restart(database: Database) -> None:
    """The answer of a commit can be lost: the attempt asks again, with its lease long over."""
    [row] = accepted(database, an_alarm())
    attempt = claimed(database, row)
    made = settled(database, row, attempt)
    with database.writing() as session:
        session.execute(update(OrderCounter).values(last=50))
    assert settled(database, row, attempt, now=NOW + timedelta(days=2)) == made
