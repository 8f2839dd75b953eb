"""Follow-ups as they are listed and closed, and rejected alarms as they are read, on both databases."""

from datetime import timedelta
from typing import Any

import pytest

from db.errors import FollowUpClosed, UnknownFollowUp, UnknownRejectedAlarm
from db.models.alarm import RejectReason
from db.models.follow_up import FollowUpKind
from db.models.order import StepName
from db.queries.alarms.intake import Unreadable, accept
from db.queries.alarms.rejected import list_rejected, show_rejected
from db.queries.orders.follow_ups import close, list_follow_ups
from db.session import Database
from tests.helpers.support import NOW, a_follow_up, accepted, an_alarm, an_order, at_once, claimed, settled


def made(database: Database, minutes: int = 0, **draft: Any) -> str:
    """An order, settled so many minutes after NOW; its id."""
    then = NOW + timedelta(minutes=minutes)
    [row] = accepted(database, an_alarm(), now=then)
    return settled(database, row, claimed(database, row, then), an_order(**draft), then)


def test_follow_ups_name_their_orders_and_the_open_ones_come_first(database: Database) -> None:
    shift, part = (
        a_follow_up(),
        a_follow_up(step=StepName.QUERY_SPARE_PARTS, subject_key="x", subject="触摸屏"),
    )
    down = a_follow_up(kind=FollowUpKind.SOURCE_DOWN)
    first = made(database, 0, follow_ups=[shift, part])
    second = made(database, 1, follow_ups=[shift, down])
    with database.reading() as session:
        by_kind = {(one["step"], one["kind"]): one for one in list_follow_ups(session)}
    missing_shift = by_kind["query_shift", "missing"]
    assert missing_shift["order_ids"] == [first, second]
    assert by_kind["query_spare_parts", "missing"]["order_ids"] == [first]
    assert by_kind["query_shift", "source_down"]["order_ids"] == [second]
    assert missing_shift | {"id": 0} == {
        "id": 0,
        "kind": "missing",
        "step": "query_shift",
        "subject": "交互屏组装A线",
        "status": "open",
        "owner": "王班长",
        "reason": "没有排班数据",
        "opened_at": NOW,
        "closed_at": None,
        "closed_by": None,
        "note": None,
        "order_ids": [first, second],
    }
    with database.writing() as session:
        close(session, missing_shift["id"], "resolved", "王芳", "已排班", NOW + timedelta(hours=1))
    with database.reading() as session:
        assert [one["status"] for one in list_follow_ups(session)] == ["open", "open", "resolved"]
        assert len(list_follow_ups(session, open_only=True)) == 2
        [still] = list_follow_ups(session, open_only=True, step="query_shift")
        assert (still["kind"], still["order_ids"]) == ("source_down", [second])


def test_closing_a_follow_up_keeps_who_when_and_why_and_happens_once(database: Database) -> None:
    order_id = made(database)
    with database.reading() as session:
        [follow_up] = list_follow_ups(session)

    def dismiss(who: int) -> str:
        try:
            with database.writing() as session:
                close(session, follow_up["id"], "dismissed", f"person {who}", "不需要", NOW)
        except FollowUpClosed as closed:
            return closed.status
        return "done"

    outcomes = at_once(dismiss, range(6))
    assert sorted(outcomes) == ["dismissed"] * 5 + ["done"]
    with database.reading() as session:
        [closed] = list_follow_ups(session)
        assert (closed["status"], closed["closed_at"], closed["note"]) == ("dismissed", NOW, "不需要")
        assert closed["closed_by"] == f"person {outcomes.index('done')}"
        assert closed["order_ids"] == [order_id]


@pytest.mark.parametrize("number", [0, -1, 404, 2**63, 10**30])
def test_a_number_that_no_row_has_is_unknown(database: Database, number: int) -> None:
    with pytest.raises(UnknownFollowUp), database.writing() as session:
        close(session, number, "resolved", "王芳", "", NOW)
    with pytest.raises(UnknownRejectedAlarm), database.reading() as session:
        show_rejected(session, number)


def test_rejected_alarms_are_listed_the_newest_first_and_shown_with_their_bytes(database: Database) -> None:
    raw = b'{"event_id": "\xff"}'
    unreadable = [
        Unreadable("1-0", raw, RejectReason.NOT_UTF8, "byte 14"),
        Unreadable("2-0", b"{", RejectReason.NOT_JSON, "中文"),
    ]
    with database.writing() as session:
        accept(session, [], unreadable, NOW)
    with database.reading() as session:
        newest, oldest = list_rejected(session)
        assert (newest["entry_id"], newest["reason"], newest["detail"]) == ("2-0", "not_json", "中文")
        assert "raw" not in newest
        assert (oldest["raw_bytes"], oldest["received_at"]) == (len(raw), NOW)
        assert [one["entry_id"] for one in list_rejected(session, limit=1)] == ["2-0"]
        assert show_rejected(session, oldest["id"])["raw"] == raw
