"""The runbook: whatever the ledger holds, it asks what is open, makes the order, and comes to its end."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from db.models.order import RUNBOOK, StepName
from tests.helpers.contexts import a_context_without_sources, manual_of, part_of
from tools.context import AlarmContext
from tools.ledger import LOOK_UPS
from tools.result import ManualFacts, ManualItem, ToolResult
from worker.agent.runbook import CALLS_A_TURN, next_turn, plan

MISSING = ToolResult.not_found("没有", "继续")
DOWN = ToolResult.unavailable("不通", "继续")
MANUAL, SHIFT, PARTS = LOOK_UPS
ORDER = StepName.GENERATE_WORK_ORDER


def a_run(**alarm: Any) -> AlarmContext:
    context = a_context_without_sources(**alarm)
    assert context.run.planner == RUNBOOK
    return context


def answered(context: AlarmContext, step: StepName, result: ToolResult, subject: str = "") -> None:
    context.ledger.record(context.ledger.question(step, subject), result)


def called(message: AIMessage) -> list[tuple[str, dict[str, Any]]]:
    return [(call["name"], call["args"]) for call in message.tool_calls]


def entry(**overrides: Any) -> ManualItem:
    facts = {"fault_code": "E401", "equipment_class": "贴合机", "title": "触摸屏失灵", "causes": ["排线松动"],
             "safety": ["上锁挂牌"], "steps": ["检查排线", "更换触摸屏"], "parts": []}  # fmt: skip
    return ManualItem.model_validate(facts | overrides)


def manual(*entries: ManualItem, ambiguous: bool = False) -> ToolResult:
    return ToolResult.success(
        "有", "继续", ManualFacts(entries=list(entries), matched_by="code", ambiguous=ambiguous)
    )


def test_it_asks_the_manual_and_the_shift_then_the_parts_then_makes_the_order_and_ends() -> None:
    context = a_run()
    assert called(next_turn(context)) == [("search_manual", {}), ("query_shift", {})]
    answered(context, MANUAL, manual_of("触摸屏", "排线"))
    answered(context, SHIFT, MISSING)
    assert called(next_turn(context)) == [
        ("query_spare_parts", {"part": "触摸屏"}),
        ("query_spare_parts", {"part": "排线"}),
    ]
    answered(context, PARTS, part_of("SP-1", "触摸屏"), "触摸屏")
    answered(context, PARTS, DOWN, "排线")
    [(name, arguments)] = called(next_turn(context))
    assert name == "generate_work_order"
    assert arguments["actions"] == ["上锁挂牌", "检查排线"]
    context.ledger.order_id = "WO-20260804-0001"
    assert called(next_turn(context)) == []


def test_it_does_not_ask_what_a_model_has_asked() -> None:
    context = a_run()
    answered(context, MANUAL, manual_of("触摸屏", "排线"))
    answered(context, PARTS, MISSING, "触摸屏")
    assert called(next_turn(context)) == [("query_shift", {}), ("query_spare_parts", {"part": "排线"})]


def test_without_an_entry_it_asks_for_the_equipment() -> None:
    context = a_run(equipment="老化架C1")
    answered(context, MANUAL, MISSING)
    answered(context, SHIFT, MISSING)
    assert called(next_turn(context)) == [("query_spare_parts", {"part": "老化架C1"})]


def test_many_parts_take_several_turns_of_a_bounded_size() -> None:
    context = a_run()
    answered(context, MANUAL, manual_of(*(f"件{n}" for n in range(20))))
    answered(context, SHIFT, MISSING)
    assert len(next_turn(context).tool_calls) == CALLS_A_TURN


def test_each_call_has_an_id_of_its_own() -> None:
    context = a_run()
    ids = [call["id"] for _ in range(3) for call in next_turn(context).tool_calls]
    assert len(set(ids)) == len(ids)


def test_the_order_is_in_the_manuals_own_words_safety_first() -> None:
    context = a_run()
    answered(context, MANUAL, manual(entry(causes=["排线松动", "屏坏"])))
    diagnosis, actions = plan(context)
    assert actions == ["上锁挂牌", "检查排线", "更换触摸屏"]
    for fact in ("交互屏组装A线", "交互屏贴合机A1", "E401", "触摸屏失灵", "排线松动", "屏坏"):
        assert fact in diagnosis


def test_with_several_candidates_each_action_says_which_it_belongs_to() -> None:
    context = a_run()
    answered(context, MANUAL, manual(entry(), entry(title="急停", steps=["复位"]), ambiguous=True))
    diagnosis, actions = plan(context)
    assert "触摸屏失灵" in diagnosis
    assert "急停" in diagnosis
    assert len(actions) == 6
    assert "交互屏贴合机A1" in actions[0]
    assert all(("触摸屏失灵" in action) != ("急停" in action) for action in actions[1:])


@pytest.mark.parametrize("result", [MISSING, DOWN])
@pytest.mark.parametrize("equipment", ["交互屏贴合机A1", ""])
def test_without_an_entry_the_order_says_what_the_machine_said_and_sends_someone(
    result: ToolResult, equipment: str
) -> None:
    context = a_run(equipment=equipment, message="触摸屏无响应")
    answered(context, MANUAL, result)
    diagnosis, actions = plan(context)
    assert "触摸屏无响应" in diagnosis
    assert "E401" in diagnosis
    assert (equipment or "交互屏组装A线") in actions[0]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_entry_without_a_single_step_still_gives_actions(language: str) -> None:
    context = a_run(language=language)
    answered(context, MANUAL, manual(entry(causes=[], safety=[], steps=[])))
    diagnosis, actions = plan(context)
    assert diagnosis
    assert actions
    assert all(action.strip() for action in actions)


def test_its_words_are_in_the_plants_language() -> None:
    context = a_run(language="en", message="No response")
    answered(context, MANUAL, MISSING)
    diagnosis, actions = plan(context)
    assert "no manual entry" in diagnosis
    assert "Lock out" in actions[0]
    assert next_turn(context).text.startswith("By the runbook")


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200).filter(str.strip)
items = st.builds(entry, parts=st.lists(words.map(str.strip), max_size=12), steps=st.lists(words, max_size=3))
finals = st.sampled_from([MISSING, DOWN])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(items, max_size=3).map(lambda entries: manual(*entries, ambiguous=len(entries) > 1)) | finals,
    st.lists(finals, min_size=60, max_size=60),
    st.text(max_size=200).map(str.strip),
    st.lists(st.tuples(words, finals), max_size=5),
)
def test_it_comes_to_its_order_whatever_the_plant_calls_its_parts(
    manual_answer: ToolResult, answers: list[ToolResult], equipment: str, asked: list[tuple[str, ToolResult]]
) -> None:
    """Each call as the guard makes it: a question that its own call does not close would be open for ever."""
    context = a_run(equipment=equipment)
    for name, result in asked:
        answered(context, PARTS, result, name.strip())
    left = iter(answers)
    for _turn in range(12):
        calls = called(next_turn(context))
        if calls[0][0] == ORDER:
            break
        for name, arguments in calls:
            part = arguments.get("part", "").strip()
            assert name != PARTS or part, "a part without a name is refused, and stays open"
            answered(context, StepName(name), manual_answer if name == MANUAL else next(left), part)
    [(name, arguments)] = calls
    assert name == ORDER
    assert arguments["diagnosis"].strip()
    assert any(action.strip() for action in arguments["actions"])
    assert context.ledger.open_questions() == []
