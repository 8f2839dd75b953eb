"""The tables in terminals of several widths, with Chinese text and with text that would play tricks."""

import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from db.views.cells import plain
from db.views.order import order_lines
from db.views.tables import follow_ups_table, orders_table, rejected_table

NOW = datetime(2026, 8, 4, 18, 30, tzinfo=UTC)
SHANGHAI = ZoneInfo("Asia/Shanghai")
WIDTHS = [60, 80, 100, 120, 200]


def printed(table: RenderableType, width: int) -> list[str]:
    console = Console(width=width, markup=False, highlight=False, emoji=False, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get().splitlines()


def a_step(step: str, status: str = "success", message: str = "", spared: int = 0) -> dict[str, Any]:
    return {"step": step, "status": status, "message": message, "calls": 1, "suppressed_calls": spared}


def an_order(**overrides: Any) -> dict[str, Any]:
    duty = {"person": "张伟", "phone": "138", "shift": "夜班", "starts": NOW.isoformat(), "ends": "?"}
    facts = {
        "order_id": "WO-20260805-10001",
        "event_id": "7b5b0c52-0d0b-5c8f-9d5a-000000000002",
        "source": "边缘盒",
        "line_name": "整机老化测试B线（东区二楼）",
        "equipment": "老化房温控系统三号机组",
        "fault_code": "E205",
        "native_code": "Ｅ２０５",
        "severity": 700,
        "priority": 2,
        "status": "Dispatched",
        "diagnosis": "温控异常。" * 30,
        "diagnosis_flags": [],
        "actions": ["断电挂牌", "更换传感器"],
        "causes": ["传感器老化"],
        "safety": ["上锁挂牌"],
        "assignee": "欧阳建国",
        "shift": {"at_order": [duty], "at_alarm": None},
        "parts": [
            {
                "number": "SP-1001",
                "name": "温度传感器",
                "matched_as": "传感器",
                "score": 91.5,
                "quantity": 0,
                "unit": "个",
                "location": "A-01",
                "below_minimum": True,
            }
        ],
        "planner": "runbook",
        "handover_reason": None,
        "model_calls": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "occurred_at": NOW,
        "created_at": NOW,
        "fingerprint": "0123456789abcdef" * 4,
        "occurrences": 1,
        "first_at": NOW,
        "last_at": NOW,
        "cleared_at": None,
        "repeat_of": None,
        "flood": None,
        "alarms": [a_row()],
        "steps": [
            a_step("search_manual"),
            a_step("query_shift", "not_found", "未找到 整机老化测试B线 的排班数据", spared=7),
            a_step("query_spare_parts", "unavailable"),
            a_step("generate_work_order"),
        ],
        "follow_ups": [a_follow_up()],
        "history": [
            {
                "from_status": None,
                "to_status": "Waiting",
                "changed_by": "runbook",
                "note": "",
                "changed_at": NOW,
            }
        ],
    }
    return facts | overrides


def a_row(**overrides: Any) -> dict[str, Any]:
    """One of an order's standing alarms."""
    facts = {
        "fingerprint": "0123456789abcdef" * 4,
        "equipment": "老化房温控系统三号机组",
        "fault_code": "E205",
        "native_code": "Ｅ２０５",
        "severity": 700,
        "occurrences": 1,
        "first_at": NOW,
        "last_at": NOW,
        "cleared_at": None,
    }
    return facts | overrides


def a_follow_up(**overrides: Any) -> dict[str, Any]:
    facts = {
        "id": 1234,
        "kind": "source_down",
        "step": "query_spare_parts",
        "subject": "整机老化测试B线（东区二楼）",
        "status": "open",
        "owner": "备件仓库管理员",
        "reason": "备件库暂时无法查询（传感器）",
        "opened_at": NOW,
    }
    return facts | overrides


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal_and_no_order_id_is_cut(width: int) -> None:
    orders = [an_order(), an_order(line_name="A线", equipment="", assignee=None)]
    for table in (orders_table(orders, SHANGHAI, width), order_lines(orders[0], SHANGHAI, width)):
        lines = printed(table, width)
        assert max(map(cell_len, lines)) <= width
        assert any("WO-20260805-10001" in line for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_columns_stand_below_their_heads_whatever_is_in_them(width: int) -> None:
    wide, narrow = "整机老化测试B线（东区二楼）", "A"
    orders = [an_order(line_name=name, fault_code=code) for name in (wide, narrow) for code in ("E1", "错误")]
    head, _, *rows = printed(orders_table(orders, SHANGHAI, width), width)
    start = cell_len(head[: head.index("Code")])
    for row, code in zip(rows, ["E1", "错误"] * 2, strict=False):
        assert cell_len(row[: row.index(code)]) == start


@pytest.mark.parametrize("width", WIDTHS)
def test_a_narrow_terminal_shows_fewer_columns_and_never_a_torn_follow_up_id(width: int) -> None:
    lines = printed(follow_ups_table([a_follow_up(), a_follow_up(status="resolved")], SHANGHAI, width), width)
    assert max(map(cell_len, lines)) <= width
    assert sum("1234" in line for line in lines) == 2
    assert ("Step" in lines[0]) == (width >= 80)
    assert ("Reason" in lines[0]) == (width >= 200)


def test_a_wide_terminal_shows_everything() -> None:
    orders = [an_order(handover_reason="model calls spent")]
    head, *_, last = printed(orders_table(orders, SHANGHAI, 200), 200)
    assert head.split() == [
        "Order",
        "Time",
        "P",
        "Status",
        "Line",
        "Equipment",
        "Code",
        "Assignee",
        "Steps",
        "Open",
        "Planner",
    ]
    assert "took over" in last


def test_times_are_the_plants() -> None:
    assert any("02:30" in line for line in printed(orders_table([an_order()], SHANGHAI, 80), 80))
    assert any("18:30" in line for line in printed(orders_table([an_order()], UTC, 80), 80))
    view = "\n".join(printed(order_lines(an_order(), SHANGHAI, 80), 80))
    assert "2026-08-05 02:30:00  Asia/Shanghai" in view
    assert "张伟 138  夜班 02:30-?" in view


def test_the_view_tells_the_whole_order() -> None:
    order = an_order(planner="deepseek-chat", model_calls=3, input_tokens=4210, output_tokens=377)
    view = "\n".join(printed(order_lines(order, SHANGHAI, 120), 120))
    for said in [
        "E205  sent as Ｅ２０５",
        "in the words of deepseek-chat",
        "4,210 tokens in, 377 out",
        "1. 断电挂牌",
        "- 上锁挂牌",
        "0 个 low",
        "∅ not found",
        "1 +7",
        "备件仓库管理员",
        "by runbook",
    ]:
        assert said in view


def test_an_order_with_nothing_in_it_has_no_empty_sections() -> None:
    nothing: dict[str, Any] = {"actions": [], "causes": [], "safety": [], "parts": [], "follow_ups": []}
    view = "\n".join(printed(order_lines(an_order(shift=None, **nothing), SHANGHAI, 80), 80))
    assert not re.search("Actions|Causes|Safety|Parts|Follow-ups", view)
    assert "Diagnosis" in view


def test_chinese_text_fills_its_lines_and_none_begins_with_a_full_stop() -> None:
    lines = [line.strip() for line in printed(plain("温控异常。" * 40), 21)]
    assert "".join(lines) == "温控异常。" * 40
    assert all(cell_len(line) >= 18 for line in lines[:-1])
    assert not any(line.startswith("。") for line in lines)


@pytest.mark.parametrize("width", [2, 3, 7, 30])
def test_text_is_broken_at_any_width_without_losing_any_of_it(width: int) -> None:
    said = "（温控 E401-transmitter）异常，，，see https://example.com/a/very/long/path 。"
    lines = printed(plain(said, lines=True), width)
    assert "".join("".join(lines).split()) == "".join(said.split())


@pytest.mark.parametrize("trick", ["\x1b[2J", "\x9b2J", "\r", "\b", "\x00", "\u202e", "\u2028"])
def test_text_from_outside_cannot_play_tricks_on_the_terminal(trick: str) -> None:
    hostile = f"A{trick}线"
    order = an_order(line_name=hostile, diagnosis=hostile, event_id=hostile, assignee=hostile)
    follow_up = a_follow_up(subject=hostile, owner=hostile, reason=hostile)
    rejected = {
        "id": 1,
        "received_at": NOW,
        "reason": "invalid",
        "raw_bytes": 1,
        "entry_id": "1-0",
        "status": "open",
    }
    views = [
        orders_table([order], SHANGHAI, 120),
        order_lines(order, SHANGHAI, 120),
        follow_ups_table([follow_up], SHANGHAI, 120),
        rejected_table([rejected | {"detail": hostile}], SHANGHAI, 120),
    ]
    for view in views:
        assert trick not in "\n".join(printed(view, 120))


def test_markup_is_text() -> None:
    table = orders_table([an_order(line_name="[red]A[/red]")], SHANGHAI, 120)
    assert any("[red]A[/red]" in line for line in printed(table, 120))
