"""What a tool answers: a closed vocabulary, and one flat object of it."""

import json
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from db.models.order import StepStatus
from tests.helpers.contexts import manual_of, part_of
from tools.result import (
    MAX_TEXT_BYTES,
    Facts,
    ManualFacts,
    ManualItem,
    OnDuty,
    OrderFacts,
    PartFacts,
    ShiftFacts,
    ToolResult,
)

HEAD = ("status", "message", "suggestion")
BERLIN = ZoneInfo("Europe/Berlin")
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)


def on_duty(person: str) -> OnDuty:
    starts, ends = datetime(2026, 10, 24, 22, tzinfo=BERLIN), datetime(2026, 10, 25, 6, tzinfo=BERLIN)
    return OnDuty(person=person, phone="1", shift="夜班", starts=starts, ends=ends)


@pytest.mark.parametrize(
    ("result", "status", "final"),
    [
        (ToolResult.success("m", "s", OrderFacts(order_id="WO-1")), "success", True),
        (ToolResult.not_found("m", "s"), "not_found", True),
        (ToolResult.unavailable("m", "s"), "unavailable", True),
        (ToolResult.invalid("m", "s"), "invalid", False),
    ],
)
def test_each_answer_says_its_status_and_only_a_malformed_question_stays_open(
    result: ToolResult, status: str, final: bool
) -> None:
    assert result.status == status
    assert result.is_final is final
    assert json.loads(result.to_text())["status"] == status


def test_there_are_four_statuses_and_no_fifth_can_be_made() -> None:
    assert {status.value for status in StepStatus} == {"success", "not_found", "invalid", "unavailable"}
    with pytest.raises(ValidationError, match="status"):
        ToolResult.model_validate({"status": "error", "message": "m", "suggestion": "s"})


def test_without_facts_the_text_is_three_fields_in_their_order() -> None:
    text = ToolResult.not_found("未找到", "继续下一步").to_text()
    assert text == '{"status": "not_found", "message": "未找到", "suggestion": "继续下一步"}'


def test_facts_stand_beside_the_status_not_under_a_name_of_their_own() -> None:
    answer = json.loads(part_of("SP-1", "触摸屏", quantity=0).to_text())
    assert tuple(answer)[:3] == HEAD
    assert "facts" not in answer
    assert answer["quantity"] == 0
    assert answer["below_minimum"] is True


@pytest.mark.parametrize("facts", [ManualFacts, ManualItem, ShiftFacts, OnDuty, PartFacts, OrderFacts])
def test_no_fact_can_take_the_place_of_the_status(facts: type[Facts]) -> None:
    assert not set(facts.model_fields) & set(HEAD)


def test_every_kind_of_facts_is_held_to_that() -> None:
    kinds = {ManualFacts, ManualItem, ShiftFacts, OnDuty, PartFacts, OrderFacts}
    assert set(Facts.__subclasses__()) == kinds


def test_who_is_on_duty_now_is_kept_from_the_model_and_kept_for_the_order() -> None:
    result = ToolResult.success(
        "m", "s", ShiftFacts(on_duty=[on_duty("张伟")], on_duty_now=[on_duty("李娜")])
    )
    assert "李娜" not in result.to_text()
    assert "张伟" in result.to_text()
    assert isinstance(result.facts, ShiftFacts)
    assert result.facts.on_duty_now[0].person == "李娜"


def test_times_are_written_with_their_offset_on_both_sides_of_a_change_of_the_clocks() -> None:
    result = ToolResult.success("m", "s", ShiftFacts(on_duty=[on_duty("张伟")], on_duty_now=[]))
    duty = json.loads(result.to_text())["on_duty"][0]
    assert (duty["starts"], duty["ends"]) == ("2026-10-24T22:00:00+02:00", "2026-10-25T06:00:00+01:00")


def test_facts_of_any_kind_keep_their_own_type_in_the_artifact() -> None:
    assert type(manual_of("触摸屏").facts) is ManualFacts
    assert type(part_of("SP-1", "触摸屏").facts) is PartFacts


def test_an_answer_cannot_be_changed_after_it_was_given() -> None:
    result = ToolResult.not_found("m", "s")
    with pytest.raises(ValidationError, match="frozen"):
        setattr(result, "status", StepStatus.SUCCESS)  # noqa: B010 - mypy knows it already


@given(words, words, st.lists(words, max_size=3))
def test_any_text_of_a_source_comes_through_the_object_unchanged(
    message: str, suggestion: str, causes: list[str]
) -> None:
    item = ManualItem(
        fault_code="E1", equipment_class="", title=message, causes=causes, safety=[], steps=[], parts=[]
    )
    facts = ManualFacts(entries=[item], matched_by="code", ambiguous=False)
    written = ToolResult.success(message, suggestion, facts).to_text()
    answer = json.loads(written.encode().decode())
    assert (answer["message"], answer["suggestion"]) == (message, suggestion)
    assert answer["entries"][0]["causes"] == causes
    assert "\n" not in written


def test_a_long_answer_is_cut_for_the_conversation_and_says_so() -> None:
    """A manual may hold books; each stays valid JSON, with something of everything in it."""
    for texts in (["长" * 5_000], ["步骤"] * 5_000, ["长" * 5_000] * 500, [""] * 3_000):
        item = ManualItem(
            fault_code="E1",
            equipment_class="",
            title="题",
            causes=texts,
            safety=texts,
            steps=texts,
            parts=["触摸屏"],
        )
        facts = ManualFacts(entries=[item] * 3, matched_by="code", ambiguous=True)
        result = ToolResult.success("m" * 9_000, "s", facts)
        written = result.to_text()
        assert len(written.encode()) <= MAX_TEXT_BYTES
        answer = json.loads(written)
        assert (answer["status"], answer["truncated"]) == ("success", True)
        assert answer["entries"][0]["parts"] == ["触摸屏"]
        assert answer["entries"][0]["causes"]
        assert result.facts is facts  # what our own code reads is whole


def test_an_answer_that_fits_is_not_cut() -> None:
    written = ToolResult.not_found("m" * 8_000, "s").to_text()
    assert json.loads(written)["message"] == "m" * 8_000
    assert "truncated" not in written
