"""The order as it is drafted: everything but diagnosis and actions from the alarm and the ledger."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from db.models.order import StepName
from db.queries.alarms.settle import OrderDraft
from tests.helpers.contexts import LINE, a_context_without_sources, a_shift, manual_of, part_of
from tests.helpers.support import NOW
from tools.context import AlarmContext
from tools.draft import draft_order
from tools.ledger import LOOK_UPS
from tools.query_shift import on_duty
from tools.result import ManualFacts, ManualItem, ShiftFacts, ToolResult

MISSING = ToolResult.not_found("没有", "继续")
DOWN = ToolResult.unavailable("不通", "继续")
MANUAL, SHIFT, PARTS = LOOK_UPS


def duty(context: AlarmContext, at_alarm: list[str], at_order: list[str]) -> ToolResult:
    """A roster's answer; each person on a shift from 8 to 20, the order's one a day later if it differs."""
    zone = context.plant.zone
    days = {"at_alarm": "2026-08-04", "at_order": "2026-08-04" if at_alarm == at_order else "2026-08-05"}
    duties = {
        when: [
            found
            for person in people
            for found in on_duty(
                [a_shift(days[when], "白班", "08:00", "20:00", person)],
                datetime.fromisoformat(f"{days[when]}T12:00:00").replace(tzinfo=zone),
                zone,
            )
        ]
        for when, people in (("at_alarm", at_alarm), ("at_order", at_order))
    }
    facts = ShiftFacts(on_duty=duties["at_alarm"], on_duty_now=duties["at_order"])
    return (
        ToolResult.success("有", "继续", facts) if at_alarm else ToolResult.not_found("没有", "继续", facts)
    )


def answered(context: AlarmContext, step: StepName, result: ToolResult, subject: str = "") -> None:
    context.ledger.record(context.ledger.question(step, subject), result)


def a_run(manual: ToolResult, shift: ToolResult | None = None, **given: Any) -> AlarmContext:
    context = a_context_without_sources(**given)
    answered(context, MANUAL, manual)
    answered(context, SHIFT, shift or MISSING)
    context.ledger.order_calls = 1
    return context


def drafted(context: AlarmContext, now: datetime = NOW) -> OrderDraft:
    return draft_order(context, "诊断", ["动作"], now)


def follow_ups(draft: OrderDraft) -> list[tuple[str, str, str]]:
    return [(item.kind, item.step, item.subject) for item in draft.follow_ups]


def test_with_every_fact_there_is_nothing_to_follow_up() -> None:
    context = a_context_without_sources()
    context = a_run(manual_of("触摸屏"), duty(context, ["张伟"], ["张伟"]))
    answered(context, PARTS, part_of("SP-1", "触摸屏", quantity=0), "触摸屏")
    draft = drafted(context)
    assert draft.follow_ups == []
    assert [step.status for step in draft.steps] == ["success"] * 4
    assert draft.assignee == "张伟"
    assert [(part.number, part.quantity, part.below_minimum) for part in draft.parts] == [("SP-1", 0, True)]


@pytest.mark.parametrize(
    ("result", "kind", "owner"), [(MISSING, "missing", "生产调度"), (DOWN, "source_down", "系统管理员")]
)
def test_a_missing_fact_and_a_source_that_is_down_go_to_different_people(
    result: ToolResult, kind: str, owner: str
) -> None:
    context = a_run(manual_of(), result)
    [item] = drafted(context).follow_ups
    assert (item.kind, item.step, item.subject) == (kind, "query_shift", LINE)
    assert item.owner == owner
    assert item.reason == result.message


def test_all_three_sources_empty_are_three_follow_ups() -> None:
    context = a_run(MISSING)
    answered(context, PARTS, MISSING, "交互屏贴合机A1")
    assert follow_ups(drafted(context)) == [
        ("missing", "search_manual", "E401 (贴合机)"),
        ("missing", "query_shift", LINE),
        ("missing", "query_spare_parts", "交互屏贴合机A1"),
    ]


def test_a_part_that_others_are_called_like_is_in_the_order_and_to_be_confirmed() -> None:
    context = a_run(manual_of("触摸屏", "排线"))
    answered(context, PARTS, part_of("N-1", "触摸屏", others=["N-2"]), "触摸屏")
    answered(context, PARTS, part_of("N-5", "排线"), "排线")
    draft = drafted(context)
    assert [part.number for part in draft.parts] == ["N-1", "N-5"]
    assert [one for one in follow_ups(draft) if one[1] == "query_spare_parts"] == [
        ("ambiguous", "query_spare_parts", "触摸屏")
    ]


def test_candidates_are_one_ambiguous_follow_up_and_all_their_words_stand_in_the_order() -> None:
    facts = ManualFacts(
        entries=[
            ManualItem(fault_code="E101", equipment_class=name, title=name, causes=["急停按下", name],
                       safety=["上锁"], steps=[], parts=[])
            for name in ("贴合机", "锁螺丝机")
        ],
        matched_by="code",
        ambiguous=True,
    )  # fmt: skip
    context = a_run(ToolResult.success("多个", "继续", facts), equipment_class="", fault_code="E101")
    draft = drafted(context)
    assert ("ambiguous", "search_manual", "E101") in follow_ups(draft)
    assert draft.causes == ["急停按下", "贴合机", "锁螺丝机"]
    assert draft.safety == ["上锁"]
    assert draft.steps[0].status == "success"


def test_what_a_model_invented_leaves_no_trace_but_in_the_account() -> None:
    context = a_run(manual_of("触摸屏"))
    answered(context, PARTS, MISSING, "发明")
    answered(context, PARTS, part_of("SP-1", "触摸屏"), "触摸屏")
    draft = drafted(context)
    step = draft.steps[2]
    assert (step.status, step.subject, step.message) == ("success", "触摸屏", "有")
    assert step.arguments == {"part": "触摸屏"}
    assert step.calls == 2
    assert [(q["subject"], q["required"], q["status"]) for q in step.questions] == [
        ("发明", False, "not_found"),
        ("触摸屏", True, "success"),
    ]
    assert follow_ups(draft) == [("missing", "query_shift", LINE)]


def test_a_part_found_under_two_names_stands_once_the_manuals_first() -> None:
    context = a_run(manual_of("导轨", "触摸屏"))
    answered(context, PARTS, part_of("SP-9", "自己想的"), "自己想的")
    answered(context, PARTS, part_of("SP-1", "触摸屏"), "触摸屏")
    answered(context, PARTS, part_of("SP-1", "触摸屏", "触控屏"), "触控屏")
    answered(context, PARTS, part_of("SP-2", "导轨"), "导轨")
    assert [part.number for part in drafted(context).parts] == ["SP-2", "SP-1", "SP-9"]


def test_several_required_parts_are_named_and_the_worst_decides() -> None:
    context = a_run(manual_of("触摸屏", "排线", "螺丝"))
    for name, result in (("触摸屏", part_of("SP-1", "触摸屏")), ("排线", MISSING), ("螺丝", DOWN)):
        answered(context, PARTS, result, name)
    draft = drafted(context)
    assert draft.steps[2].status == "unavailable"
    assert draft.steps[2].subject == "触摸屏、排线、螺丝"
    assert draft.steps[2].arguments == {"part": ["触摸屏", "排线", "螺丝"]}
    assert draft.steps[2].message == "有\n没有\n不通"
    assert [item.kind for item in draft.follow_ups if item.step == "query_spare_parts"] == [
        "missing",
        "source_down",
    ]


def test_a_manual_that_lists_no_part_says_so_in_the_step() -> None:
    step = drafted(a_run(manual_of())).steps[2]
    assert (step.status, step.subject, step.arguments, step.calls) == ("success", "", {}, 0)
    assert step.message == "手册未列出所需备件"


def test_the_order_goes_to_who_is_on_duty_when_it_is_written() -> None:
    context = a_context_without_sources()
    context = a_run(manual_of(), duty(context, ["张伟"], ["王强"]))
    draft = drafted(context, NOW + timedelta(days=1))
    assert draft.assignee == "王强"
    assert draft.shift is not None
    assert [item["person"] for item in draft.shift["at_order"]] == ["王强"]
    assert [item["person"] for item in draft.shift["at_alarm"]] == ["张伟"]


def test_the_shift_at_the_alarm_is_not_repeated_when_it_is_the_same() -> None:
    context = a_context_without_sources()
    draft = drafted(a_run(manual_of(), duty(context, ["张伟"], ["张伟"])))
    assert draft.shift is not None
    assert draft.shift["at_alarm"] is None


def test_a_hand_over_between_the_look_up_and_the_order_is_heeded() -> None:
    context = a_context_without_sources()
    zone = context.plant.zone
    evening = datetime(2026, 8, 4, 19, 59, tzinfo=zone)
    roster = [
        a_shift("2026-08-04", "白班", "08:00", "20:00", "张伟"),
        a_shift("2026-08-04", "夜班", "20:00", "08:00", "王强"),
    ]
    day, night = (on_duty(roster, evening + timedelta(minutes=n), zone) for n in (0, 1))
    facts = ShiftFacts(on_duty=day, on_duty_now=day + night)
    context = a_run(manual_of(), ToolResult.success("有", "继续", facts))
    assert drafted(context, evening).assignee == "张伟"
    assert drafted(context, evening + timedelta(minutes=1)).assignee == "王强"


@pytest.mark.parametrize("shift", [MISSING, DOWN])
def test_with_nobody_on_duty_the_leader_answers(shift: ToolResult) -> None:
    context = a_run(manual_of(), shift)
    context.leader = "刘班长"
    draft = drafted(context)
    assert draft.assignee == "刘班长"
    assert draft.shift is None


def test_with_nobody_at_all_the_order_stands_without_an_assignee() -> None:
    assert drafted(a_run(manual_of())).assignee is None


def test_the_repeated_calls_of_the_last_tool_are_counted_as_suppressed() -> None:
    context = a_run(manual_of())
    context.ledger.order_calls = 4
    step = drafted(context).steps[3]
    assert (step.step, step.status, step.calls, step.suppressed_calls) == (
        "generate_work_order",
        "success",
        1,
        3,
    )


def test_the_same_code_of_another_class_is_another_fact() -> None:
    keys = set()
    for name in ("贴合机", "锁螺丝机", ""):
        context = a_run(MISSING, equipment_class=name)
        keys.add(drafted(context).follow_ups[0].subject_key)
    assert len(keys) == 3


def test_the_subject_key_does_not_depend_on_how_the_alarm_wrote_the_line() -> None:
    keys = {
        drafted(a_run(manual_of(), line_name=name)).follow_ups[0].subject_key
        for name in ("交互屏组装A线", "交互屏组装a线", "交互屏组装Ａ 线")
    }
    assert len(keys) == 1
