"""The command work-orders as a person or a script calls it."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from db.session import Database
from tests.helpers.support import NOW, accepted, an_alarm
from tests.helpers.work_orders import Command, made, printed, refused


def test_an_order_goes_from_the_list_to_its_end(database: Database, work_orders: Command) -> None:
    order_id = made(database, event_id="evt-1")
    assert order_id in printed(work_orders("list"))
    shown = printed(work_orders("show", "evt-1"))
    assert all(said in shown for said in (order_id, "触摸屏驱动板故障", "∅ not found", "王班长"))
    moved = printed(work_orders("set-status", order_id, "ready", "--by", " 王芳 ", "--note", "备件已到"))
    assert moved == f"{order_id}: Waiting -> Ready, by 王芳\n"
    [order] = json.loads(printed(work_orders("list", "--status", "READY", "--json")))
    assert order["history"][-1]["changed_by"] == "王芳"
    assert order["history"][-1]["note"] == "备件已到"
    line = refused(work_orders("set-status", order_id, "Closed", "--by", "王芳"), 1)
    assert all(said in line for said in ("Ready", "Closed", "Dispatched, Held, Cancelled"))


def test_json_is_the_same_order_in_the_list_and_alone_with_times_that_name_their_offset(
    database: Database, work_orders: Command
) -> None:
    order_id = made(database)
    [listed] = json.loads(printed(work_orders("list", "--json")))
    shown = json.loads(printed(work_orders("show", order_id, "--json")))
    assert shown == listed
    assert datetime.fromisoformat(shown["created_at"]) == NOW
    assert shown["created_at"].endswith("+00:00")
    assert shown["line_name"] == "交互屏组装A线"
    assert "交互屏组装A线" in work_orders("show", order_id, "--json").stdout  # readable, not escaped


def test_the_list_says_when_there_are_more(database: Database, work_orders: Command) -> None:
    orders = [made(database, minutes) for minutes in range(3)]
    table = printed(work_orders("list", "--limit", "2"))
    assert orders[0] not in table
    assert orders[2] in table
    assert "the newest 2 of 3; --limit 3 shows all" in table
    assert "newest" not in printed(work_orders("list", "--limit", "3"))
    as_json = work_orders("list", "--limit", "1", "--json")
    assert [order["order_id"] for order in json.loads(as_json.stdout)] == [orders[2]]
    assert "1 of 3" in as_json.stderr


def test_a_date_without_an_offset_is_the_plants(database: Database, work_orders: Command) -> None:
    made(database)  # at 02:30 UTC, 10:30 in Shanghai, 22:30 of the day before in New York

    def orders(since: str, zone: str) -> int:
        return len(json.loads(printed(work_orders("list", "--json", "--since", since, PLANT_TIMEZONE=zone))))

    assert orders("2026-08-04", "Asia/Shanghai") == 1
    assert orders("2026-08-04", "America/New_York") == 0
    assert orders("2026-08-04T10:30", "Asia/Shanghai") == 1
    assert orders("2026-08-04T10:31", "Asia/Shanghai") == 0
    assert orders("2026-08-04T02:30Z", "America/New_York") == 1
    assert orders("2026-08-04T02:30:01+00:00", "Asia/Shanghai") == 0
    table = printed(work_orders("list", PLANT_TIMEZONE="America/New_York"))
    assert "22:30" in table


def test_an_empty_list_says_where_it_looked(database: Database, work_orders: Command) -> None:
    where = database.url.render_as_string(hide_password=True).removeprefix("sqlite:///")
    assert printed(work_orders("list")) == f"no work orders in {where}\n"
    assert printed(work_orders("follow-ups", "list", "--open")) == f"no open follow-ups in {where}\n"
    assert json.loads(printed(work_orders("list", "--json"))) == []
    assert json.loads(printed(work_orders("follow-ups", "list", "--json"))) == []
    made(database, line_name="SMT 线2")
    nothing = printed(work_orders("list", "--line", "SMT 线3"))
    assert nothing == f"no work orders match in {where}; lines that have some: SMT 线2\n"


def test_a_follow_up_is_listed_and_closed_once(database: Database, work_orders: Command) -> None:
    order_id = made(database)
    table = printed(work_orders("follow-ups", "list"))
    assert all(said in table for said in ("missing", "query_shift", "交互屏组装A线", "王班长"))
    [follow_up] = json.loads(printed(work_orders("follow-ups", "list", "--open", "--json")))
    assert follow_up["order_ids"] == [order_id]
    assert datetime.fromisoformat(follow_up["opened_at"]) == NOW
    number = str(follow_up["id"])
    closed = printed(work_orders("follow-ups", "resolve", number, "--by", "王芳", "--note", "已排班"))
    assert closed == f"follow-up {number} (交互屏组装A线): resolved, by 王芳\n"
    assert "resolved" in refused(work_orders("follow-ups", "dismiss", number, "--by", "李明"), 1)
    assert json.loads(printed(work_orders("follow-ups", "list", "--open", "--json"))) == []
    [kept] = json.loads(printed(work_orders("follow-ups", "list", "--step", "QUERY_SHIFT", "--json")))
    assert (kept["status"], kept["closed_by"], kept["note"]) == ("resolved", "王芳", "已排班")
    assert json.loads(printed(work_orders("follow-ups", "list", "--step", "search_manual", "--json"))) == []
    assert "resolved" in printed(work_orders("follow-ups", "list"))


def test_what_is_unknown_or_ambiguous_is_said_in_one_line(database: Database, work_orders: Command) -> None:
    made(database, event_id="twice", source="plc-7")
    made(database, event_id="twice", source="边缘盒")
    assert "'WO-1'" in refused(work_orders("show", "WO-1"), 1)
    ambiguous = refused(work_orders("show", "twice"), 1)
    assert all(said in ambiguous for said in ("plc-7", "边缘盒", "--source"))
    assert printed(work_orders("show", "twice", "--source", "边缘盒"))
    assert "404" in refused(work_orders("follow-ups", "resolve", "404", "--by", "x"), 1)
    assert "WO-1" in refused(work_orders("set-status", "WO-1", "Ready", "--by", "x"), 1)


def test_an_event_without_an_order_is_answered_with_the_reason(
    database: Database, work_orders: Command
) -> None:
    accepted(database, an_alarm(event_id="early"), an_alarm(event_id="over", state="cleared"))
    said = printed(work_orders("show", "early"))
    why = "one is made once it has been handled"
    assert said == f"event 'early' from 'plc-7' is waiting and has no work order; {why}\n"
    assert "is stored and has no work order" in printed(work_orders("show", "over"))
    answer = json.loads(printed(work_orders("show", "early", "--json")))
    assert answer == {
        "order_id": None,
        "event_id": "early",
        "source": "plc-7",
        "alarm_status": "waiting",
        "reason": why,
    }


BAD = [
    (["show", " "], "blank"),
    (["show", "a\0b"], "NUL"),
    (["show", "a\udcff"], "UTF-8"),
    (["show", "x", "--source", "\0"], "--source"),
    (["list", "--line", "\ud800"], "--line"),
    (["list", "--planner", "a\0"], "--planner"),
    (["list", "--status", "Done"], "Waiting, Ready"),
    (["list", "--status", "\0"], "--status"),
    (["list", "--since", "yesterday"], "2026-08-04"),
    (["list", "--since", "2026-08-04T10:30\0"], "--since"),
    (["list", "--since", "0001-01-01"], "--since"),
    (["list", "--since", "9999-12-31"], "--since"),
    (["set-status", "WO-1", "Done", "--by", "x"], "Cancelled"),
    (["set-status", "WO-1", "Ready", "--by", " "], "--by is blank"),
    (["set-status", "WO-1", "Ready", "--by", "x" * 201], "201"),
    (["set-status", "WO-1", "Ready", "--by", "x", "--note", "a\0b"], "--note"),
    (["set-status", "WO-1", "Ready", "--by", "x", "--note", "长" * 4001], "4001"),
    (["set-status", "\udc80", "Ready", "--by", "x"], "ORDER"),
    (["follow-ups", "list", "--step", "query"], "query_shift"),
    (["follow-ups", "resolve", "1", "--by", "\t"], "--by is blank"),
    (["follow-ups", "dismiss", "1", "--by", "\udcff"], "--by"),
    (["follow-ups", "dismiss", "one", "--by", "x"], "'one'"),
]


@pytest.mark.parametrize(("arguments", "said"), BAD)
def test_an_argument_that_cannot_be_right_is_refused_in_one_line(
    command: Command, tmp_path: Path, arguments: list[str], said: str
) -> None:
    assert said in refused(command(*arguments, DATABASE_URL=f"sqlite:///{tmp_path}/none.db"), 2)
    assert not (tmp_path / "none.db").exists()


COMMANDS = [
    ["list"],
    ["show", "evt-1"],
    ["set-status", "WO-1", "Ready", "--by", "x"],
    ["follow-ups", "list"],
    ["follow-ups", "resolve", "1", "--by", "x"],
]


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_database_that_is_not_there_is_not_made(
    command: Command, tmp_path: Path, arguments: list[str]
) -> None:
    line = refused(command(*arguments, DATABASE_URL=f"sqlite:///{tmp_path}/deep/none.db"), 1)
    assert f"{tmp_path}/deep/none.db" in line
    assert "alarm-db upgrade" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_database_without_tables_or_that_cannot_be_used_names_what_to_do(
    command: Command, tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "empty.db").touch()
    (tmp_path / "junk.db").write_bytes(b"no database at all" * 100)
    assert "alarm-db upgrade" in refused(command(*arguments, DATABASE_URL="sqlite:///empty.db"), 1)
    assert "DATABASE_URL" in refused(command(*arguments, DATABASE_URL="sqlite:///junk.db"), 1)
    assert "DATABASE_URL" in refused(command(*arguments, DATABASE_URL=f"sqlite:///{tmp_path}"), 1)


@pytest.mark.parametrize("query", ["", "?password=s3cret&connect_timeout=2"])
def test_a_database_out_of_reach_is_named_without_its_password(command: Command, query: str) -> None:
    line = refused(command("list", DATABASE_URL=f"postgresql://bob:s3cret@127.0.0.1:1/andon{query}"), 1)
    assert "127.0.0.1:1/andon" in line
    assert "DATABASE_URL" in line
    assert "s3cret" not in line


def test_a_table_that_is_missing_is_an_error_and_not_an_empty_list(
    database: Database, work_orders: Command
) -> None:
    with database.writing() as session:
        session.execute(text("DROP TABLE follow_up_order"))
    line = refused(work_orders("follow-ups", "list"), 1)
    assert "follow_up_order" in line
    assert "alarm-db upgrade" in line


@pytest.mark.parametrize(
    ("name", "value"),
    [("PLANT_TIMEZONE", "Mars"), ("PRIORITY_SEVERITIES", "x"), ("DATABASE_URL", "mysql://a")],
)
def test_a_setting_that_cannot_be_right_is_named(command: Command, name: str, value: str) -> None:
    assert name in refused(command("list", **{name: value}), 2)
