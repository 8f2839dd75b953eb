"""Accounts and flags as `work-orders` shows them."""

import json

from db.queries.alarms.runs import store_trace
from db.session import Database
from tests.helpers.support import NOW, accepted, an_alarm, claimed, settled
from tests.helpers.work_orders import Command, made, printed, refused


def test_what_a_models_words_name_beside_the_alarm_is_marked_in_the_list_and_told_in_the_order(
    database: Database, work_orders: Command
) -> None:
    flags = [
        {"kind": "line", "text": "整机老化C线", "where": "diagnosis"},
        {"kind": "code", "text": "E999", "where": "actions[1]"},
    ]
    doubtful = made(database, draft={"planner": "a-model", "diagnosis_flags": flags})
    sound = made(database, event_id="evt-2")
    listed = printed(work_orders("list"))
    assert f"{doubtful} ?" in listed
    assert f"{sound} ?" not in listed
    assert "? its words name another line, code or order" in listed
    shown = " ".join(printed(work_orders("show", doubtful)).split())
    assert "? diagnosis another line 整机老化C线 ? action 2 another code E999" in shown
    assert "Doubtful" not in printed(work_orders("show", sound))
    assert json.loads(printed(work_orders("show", doubtful, "--json")))["diagnosis_flags"] == flags


def test_a_trace_tells_each_attempt_at_an_alarm_turn_by_turn(
    database: Database, work_orders: Command
) -> None:
    order_id = made(database, event_id="evt-1")
    told = [
        {"kind": "model", "at": 0.1, "text": "先查排班", "turn": 1, "by": "a-model", "call": 1,
         "calls": [{"name": "query_shift", "arguments": {"date": "2026-08-05"}}]},
        {"kind": "tool", "at": 0.2, "text": '{"status": "not_found", "message": "未找到排班"}',
         "name": "query_shift", "arguments": {}, "status": "not_found", "by": "ledger"},
        {"kind": "handover", "at": 0.3, "reason": "no_new_facts", "model_calls": 3},
    ]  # fmt: skip
    with database.writing() as session:
        assert store_trace(session, 1, 1, told)
    shown = " ".join(printed(work_orders("show", order_id, "--trace")).split())
    expected = [
        "先查排班", 'query_shift {"date": "2026-08-05"}', "∅ not found answered already: from the ledger",
        "未找到排班", "handed over to the runbook after 3 model calls: no_new_facts",
    ]  # fmt: skip
    assert [said for said in expected if said not in shown] == []
    account = json.loads(printed(work_orders("show", "evt-1", "--trace", "--json")))
    assert (account["order_id"], account["event_id"]) == (order_id, "evt-1")
    assert [run["trace"] for run in account["runs"]] == [told]


def test_a_trace_of_an_alarm_without_an_order_or_of_an_attempt_without_an_account_says_so(
    database: Database, work_orders: Command
) -> None:
    [row] = accepted(database, an_alarm(event_id="evt-1"), now=NOW)
    assert "no attempt has been made yet" in printed(work_orders("show", "evt-1", "--trace"))
    claimed(database, row)
    assert "still running" in printed(work_orders("show", "evt-1", "--trace"))
    settled(database, row, 1)
    assert "no account is kept" in printed(work_orders("show", "evt-1", "--trace"))
    assert "evt-9" in refused(work_orders("show", "evt-9", "--trace"), 1)
