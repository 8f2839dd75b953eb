"""One follow-up for one missing fact, with every order that lacks it."""

import random
from collections import Counter
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import OperationalError

from db.errors import FollowUpClosed
from db.models import FollowUp, WorkOrder, follow_up_order
from db.models.follow_up import FollowUpKind, FollowUpStatus
from db.models.order import StepName
from db.queries.alarms.settle import settle
from db.queries.orders.follow_ups import close
from db.session import Database
from tests.helpers.support import (
    NOW,
    ZONE,
    a_follow_up,
    accepted,
    an_alarm,
    an_order,
    at_once,
    claimed,
    count,
    only_postgresql,
    settled,
)


def links(database: Database) -> Counter[int]:
    """How many orders each follow-up has."""
    with database.reading() as session:
        return Counter(session.scalars(select(follow_up_order.c.follow_up_id)).all())


def test_settlements_around_midnight_do_not_wait_for_each_other_in_a_circle(database: Database) -> None:
    """Two dates have two counters: only the order of the follow-ups keeps their settlements apart then."""
    rows = accepted(database, *(an_alarm() for _ in range(60)))
    attempts = {row: claimed(database, row, lease=timedelta(days=9)) for row in rows}
    facts = [a_follow_up(subject_key=f"line-{n}", step=step) for n in range(4) for step in list(StepName)[:2]]

    def work(number: int) -> None:
        dice = random.Random(number)
        for row in rows[number::12]:
            mine = dice.sample(facts, len(facts))
            draft = an_order(follow_ups=mine)
            settled(database, row, attempts[row], draft, NOW + timedelta(days=number % 3))

    at_once(work, range(12))
    assert list(links(database).values()) == [60] * len(facts)


def test_fifty_alarms_that_lack_one_fact_are_one_follow_up_with_fifty_orders(database: Database) -> None:
    rows = accepted(database, *(an_alarm() for _ in range(50)))
    attempts = {row: claimed(database, row) for row in rows}

    def work(number: int) -> None:
        for row in rows[number::25]:
            settled(database, row, attempts[row])

    at_once(work, range(25))
    assert count(database, FollowUp) == 1
    assert list(links(database).values()) == [50]


def test_another_kind_step_or_subject_is_another_follow_up(database: Database) -> None:
    drafts = [
        a_follow_up(),
        a_follow_up(kind=FollowUpKind.SOURCE_DOWN),
        a_follow_up(step=StepName.SEARCH_MANUAL),
        a_follow_up(subject_key="交互屏组装b线"),
        a_follow_up(subject="交互屏组装 A 线", reason="said twice"),
    ]
    [row] = accepted(database, an_alarm())
    settled(database, row, claimed(database, row), an_order(follow_ups=drafts))
    assert list(links(database).values()) == [1, 1, 1, 1]
    with database.reading() as session:
        reasons = session.scalars(select(FollowUp.reason)).all()
    assert set(reasons) == {"没有排班数据"}  # the first one's words


def test_a_fact_that_is_missing_again_after_it_was_closed_is_a_new_follow_up(database: Database) -> None:
    for expected in (1, 2):
        [row] = accepted(database, an_alarm())
        settled(database, row, claimed(database, row))
        assert count(database, FollowUp) == expected
        with database.writing() as session:
            [open_one] = session.scalars(select(FollowUp.id).where(FollowUp.status == FollowUpStatus.OPEN))
            close(session, open_one, FollowUpStatus.RESOLVED, "王班长", "roster loaded", NOW)


def test_closing_at_the_same_time_leaves_no_order_without_a_follow_up_that_was_open(
    database: Database,
) -> None:
    """Whoever closes one closes it with every order attached to it so far; later orders open a new one."""
    rows = accepted(database, *(an_alarm() for _ in range(48)))
    attempts = {row: claimed(database, row) for row in rows}

    def work(number: int) -> None:
        if number < 12:
            for row in rows[number::12]:
                settled(database, row, attempts[row])
            return
        for _ in range(15):
            with database.reading() as session:
                open_ones = session.scalars(select(FollowUp.id).where(FollowUp.status == "open")).all()
            for follow_up_id in open_ones:
                try:
                    with database.writing() as session:
                        close(session, follow_up_id, FollowUpStatus.DISMISSED, "x", "", NOW)
                except FollowUpClosed:
                    pass

    at_once(work, range(16))
    with database.reading() as session:
        per_order = select(follow_up_order.c.work_order_id, func.count()).group_by("work_order_id")
        assert sorted(session.execute(per_order).all()) == sorted(
            (order_id, 1) for order_id in session.scalars(select(WorkOrder.id))
        )
        open_ones = session.scalars(select(FollowUp).where(FollowUp.status == FollowUpStatus.OPEN)).all()
        assert len(open_ones) <= 1
    assert sum(links(database).values()) == 48


@only_postgresql
def test_a_follow_up_that_an_order_is_joining_cannot_be_closed_before(database: Database) -> None:
    first, second = accepted(database, an_alarm(), an_alarm())
    settled(database, first, claimed(database, first))
    attempt = claimed(database, second)
    with database.writing() as joining:
        settle(joining, second, attempt, an_order(), NOW, ZONE)
        with database.writing() as closing:
            closing.execute(text("SET LOCAL lock_timeout = '200ms'"))
            [row] = closing.scalars(select(FollowUp.id))
            with pytest.raises(OperationalError, match="lock timeout"):
                close(closing, row, FollowUpStatus.RESOLVED, "x", "", NOW)
            closing.rollback()
    assert list(links(database).values()) == [2]


def test_two_long_subjects_that_differ_at_the_end_are_two_follow_ups(database: Database) -> None:
    drafts = [a_follow_up(subject_key="长" * 400 + end) for end in "ab"]
    for _ in range(2):
        [row] = accepted(database, an_alarm())
        settled(database, row, claimed(database, row), an_order(follow_ups=drafts))
    assert list(links(database).values()) == [2, 2]
