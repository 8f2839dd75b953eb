"""The ledger: what is one question, what is closed, what is required, and what a model may add."""

import pytest

from db.models.order import StepName, StepStatus
from tests.helpers.contexts import manual_of, part_of
from tools.ledger import LOOK_UPS, MAX_GIVEN, MAX_MODEL_PARTS, Ledger, Question, worst
from tools.result import ToolResult

MANUAL, SHIFT, PARTS = LOOK_UPS
MISSING = ToolResult.not_found("没有", "继续")
DOWN = ToolResult.unavailable("不通", "继续")
MALFORMED = ToolResult.invalid("不对", "改正")


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(code="E401", line_name="交互屏组装A线", parts_fallback="交互屏贴合机A1")


def answered(ledger: Ledger, step: StepName, result: ToolResult, subject: str = "") -> Question:
    question = ledger.question(step, subject)
    ledger.record(question, result)
    return question


def required(ledger: Ledger, step: StepName) -> list[str]:
    return [question.subject for question in ledger.required(step)]


@pytest.mark.parametrize("step", [MANUAL, SHIFT])
def test_the_manual_and_the_shift_are_asked_about_the_alarm_whatever_a_model_names(
    ledger: Ledger, step: StepName
) -> None:
    own = ledger.question(step)
    assert all(ledger.question(step, other) is own for other in ("E402", "交互屏组装B线", "2026-08-05"))
    assert own.subject in ("E401", "交互屏组装A线")
    assert list(own.asked.values()) == [own.subject]


@pytest.mark.parametrize(
    "spelling", ["SP-1001", "sp1001", "ＳＰ－1001", " SP 1001 ", "Sp_1001", "\ufeffSP-1001", "SP\u200b-1001"]
)
def test_a_part_spelled_otherwise_is_the_same_question(ledger: Ledger, spelling: str) -> None:
    assert ledger.question(PARTS, spelling) is ledger.question(PARTS, "SP-1001")


def test_names_of_marks_alone_are_different_questions(ledger: Ledger) -> None:
    assert ledger.question(PARTS, "---") is not ledger.question(PARTS, "###")


@pytest.mark.parametrize("result", [part_of("SP-1", "触摸屏"), MISSING, DOWN])
def test_a_final_answer_closes_its_question_and_is_news_once(ledger: Ledger, result: ToolResult) -> None:
    question = answered(ledger, PARTS, result, "触摸屏")
    assert question.closed
    assert ledger.news == 1
    ledger.record(question, result)
    assert ledger.news == 1
    assert question.calls == 2


def test_a_malformed_question_stays_open_and_is_no_news(ledger: Ledger) -> None:
    question = answered(ledger, PARTS, MALFORMED, "触摸屏")
    assert not question.closed
    assert ledger.news == 0
    ledger.record(question, MISSING)
    assert question.closed
    assert ledger.news == 1


def test_no_part_is_required_until_the_manual_has_answered(ledger: Ledger) -> None:
    assert required(ledger, PARTS) == []
    answered(ledger, MANUAL, MALFORMED)
    assert required(ledger, PARTS) == []


@pytest.mark.parametrize("result", [MISSING, DOWN])
def test_without_an_entry_the_equipment_is_the_required_part(ledger: Ledger, result: ToolResult) -> None:
    answered(ledger, MANUAL, result)
    assert required(ledger, PARTS) == ["交互屏贴合机A1"]


def test_each_part_of_the_manual_is_required_once_however_often_it_is_listed(ledger: Ledger) -> None:
    answered(ledger, MANUAL, manual_of("SP-1001", "导轨", "sp 1001", "ＳＰ1001", "导轨 "))
    assert required(ledger, PARTS) == ["SP-1001", "导轨"]


def test_an_entry_without_parts_requires_none_and_that_is_a_success(ledger: Ledger) -> None:
    answered(ledger, MANUAL, manual_of())
    assert ledger.required(PARTS) == []
    assert ledger.status(PARTS) is StepStatus.SUCCESS


def test_a_part_that_was_found_under_another_name_need_not_be_asked_again(ledger: Ledger) -> None:
    question = answered(ledger, PARTS, part_of("SP-1001", "触摸屏", "触摸显示屏"), "触摸屏驱动")
    answered(ledger, MANUAL, manual_of("sp1001", "触摸显示屏"))
    assert ledger.required(PARTS) == [question]
    assert [q.step for q in ledger.open_questions()] == [SHIFT]


def test_a_part_found_for_another_question_does_not_answer_for_a_required_one(ledger: Ledger) -> None:
    answered(ledger, PARTS, part_of("SP-2", "导轨"), "触摸屏")
    answered(ledger, MANUAL, manual_of("SP-3"))
    assert [q.subject for q in ledger.open_questions()] == ["交互屏组装A线", "SP-3"]


def test_the_open_questions_come_in_the_order_of_the_procedure(ledger: Ledger) -> None:
    assert [q.step for q in ledger.open_questions()] == [MANUAL, SHIFT]
    answered(ledger, MANUAL, manual_of("乙", "甲"))
    assert [q.subject for q in ledger.open_questions()] == ["交互屏组装A线", "乙", "甲"]
    answered(ledger, SHIFT, DOWN)
    answered(ledger, PARTS, MISSING, "乙")
    assert [q.subject for q in ledger.open_questions()] == ["甲"]
    answered(ledger, PARTS, part_of("SP-1", "甲"), "甲")
    assert ledger.open_questions() == []


def test_a_model_may_ask_a_few_parts_of_its_own_and_the_required_ones_always(ledger: Ledger) -> None:
    answered(ledger, MANUAL, manual_of("触摸屏", "排线"))
    for n in range(MAX_MODEL_PARTS):
        assert ledger.may_ask_part(f"发明{n}")
        answered(ledger, PARTS, MISSING, f"发明{n}")
    assert not ledger.may_ask_part("又一个")
    assert ledger.may_ask_part("触摸屏")
    assert ledger.may_ask_part("排 线")
    assert ledger.may_ask_part("发明0"), "what is answered already costs nothing to answer again"


def test_the_limit_holds_for_calls_that_run_at_once(ledger: Ledger) -> None:
    """Calls of one turn all begin before the first of them has its answer."""
    answered(ledger, MANUAL, manual_of())
    allowed = [name for name in (f"发明{n}" for n in range(50)) if ledger.may_ask_part(name)]
    assert len(allowed) == MAX_MODEL_PARTS
    for name in allowed:
        answered(ledger, PARTS, MISSING, name)
    assert not ledger.may_ask_part("又一个")


def test_a_part_asked_for_twice_at_once_counts_once(ledger: Ledger) -> None:
    assert all(ledger.may_ask_part("发明") for _ in range(20))
    assert ledger.may_ask_part("第二个")


def test_a_part_asked_before_the_manual_named_it_is_not_held_against_the_model(ledger: Ledger) -> None:
    for n in range(MAX_MODEL_PARTS):
        assert ledger.may_ask_part(f"件{n}")
        answered(ledger, PARTS, MISSING, f"件{n}")
    assert not ledger.may_ask_part("自己的")
    answered(ledger, MANUAL, manual_of(*(f"件{n}" for n in range(MAX_MODEL_PARTS))))
    assert ledger.may_ask_part("自己的")


def test_a_part_that_may_not_be_asked_leaves_no_trace(ledger: Ledger) -> None:
    answered(ledger, MANUAL, manual_of())
    for n in range(10_000):
        if ledger.may_ask_part(f"发明{n}"):
            answered(ledger, PARTS, MISSING, f"发明{n}")
    assert len(ledger.asked_in(PARTS)) == MAX_MODEL_PARTS
    assert ledger.news == MAX_MODEL_PARTS + 1


def test_invented_parts_change_neither_the_status_nor_what_is_open(ledger: Ledger) -> None:
    answered(ledger, MANUAL, manual_of("触摸屏"))
    answered(ledger, SHIFT, MISSING)
    answered(ledger, PARTS, part_of("SP-1", "触摸屏"), "触摸屏")
    answered(ledger, PARTS, DOWN, "发明")
    assert ledger.status(PARTS) is StepStatus.SUCCESS
    assert ledger.open_questions() == []
    assert [q.subject for q in ledger.asked_in(PARTS)] == ["触摸屏", "发明"]


def test_a_step_nobody_asked_about_is_unavailable_not_successful(ledger: Ledger) -> None:
    assert ledger.status(MANUAL) is StepStatus.UNAVAILABLE
    answered(ledger, MANUAL, manual_of("触摸屏"))
    assert ledger.status(PARTS) is StepStatus.UNAVAILABLE


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([part_of("1", "甲"), part_of("2", "乙")], "success"),
        ([part_of("1", "甲"), MISSING], "not_found"),
        ([DOWN, MISSING], "unavailable"),
        ([part_of("1", "甲"), DOWN], "unavailable"),
        ([MISSING, MALFORMED], "not_found"),
        ([part_of("1", "甲"), MALFORMED], "invalid"),
    ],
)
def test_a_step_is_as_bad_as_its_worst_required_question(
    ledger: Ledger, results: list[ToolResult], status: str
) -> None:
    answered(ledger, MANUAL, manual_of("甲", "乙"))
    for name, result in zip("甲乙", results, strict=True):
        answered(ledger, PARTS, result, name)
    assert ledger.status(PARTS) == status


def test_the_worst_of_nothing_is_a_success_and_every_status_has_its_place() -> None:
    assert worst([]) is StepStatus.SUCCESS
    assert [worst([status]) for status in StepStatus] == list(StepStatus)


def test_only_the_first_arguments_of_a_model_are_kept(ledger: Ledger) -> None:
    question = ledger.question(SHIFT)
    question.note({})
    for n in range(1000):
        question.note({"date": n})
    assert len(question.given) == MAX_GIVEN
    assert question.given[0] == {"date": 0}


def test_two_alarms_share_no_account(ledger: Ledger) -> None:
    other = Ledger(code="E401", line_name="交互屏组装A线", parts_fallback="交互屏贴合机A1")
    answered(ledger, MANUAL, MISSING)
    assert other.news == 0
    assert other.open_questions()[0].step is MANUAL


def test_a_required_part_is_named_as_the_manual_names_it(ledger: Ledger) -> None:
    asked = ledger.question(PARTS, " 触-摸-屏 ")
    ledger.record(asked, ToolResult.not_found("未找到备件  触-摸-屏 ", "继续"))
    ledger.record(ledger.question(MANUAL), manual_of("触摸屏"))
    [required] = ledger.required(PARTS)
    assert required is asked
    assert (required.subject, required.asked) == ("触摸屏", {"part": " 触-摸-屏 "})
    assert required.result is not None
    assert required.result.message == "未找到备件 触摸屏"
    assert ledger.question(PARTS, "触 摸 屏") is asked


def test_what_was_found_keeps_its_own_words(ledger: Ledger) -> None:
    asked = ledger.question(PARTS, "A")
    found = part_of("A", "触摸屏")
    ledger.record(asked, found)
    ledger.record(ledger.question(MANUAL), manual_of("触摸屏", "A"))
    [required] = ledger.required(PARTS)
    assert (required.subject, required.result) == ("触摸屏", found)


@pytest.mark.parametrize(
    ("asked", "serves"),
    [
        (part_of("N-1", "触摸屏", matched_as="触摸屏"), {"触摸屏", "N-1"}),
        (part_of("N-1", "触摸屏", matched_as="N-1"), {"N-1"}),
        (part_of("N-1", "触摸屏", matched_as="HMI"), {"HMI", "N-1"}),
        (part_of("N-1", "触摸屏", matched_as="触摸屏", others=["N-2"]), {"触摸屏"}),
    ],
)
def test_an_answer_serves_for_another_word_only_if_that_word_leaves_no_doubt(
    asked: ToolResult, serves: set[str]
) -> None:
    """Of two parts that are called 触摸屏, who asked for one's number has not chosen."""
    for word in ("触摸屏", "N-1", "HMI", "N-2"):
        ledger = Ledger(code="E401", line_name="交互屏组装A线", parts_fallback="交互屏贴合机A1")
        question = answered(ledger, PARTS, asked, "as the model called it")
        answered(ledger, MANUAL, manual_of(word))
        assert (ledger.required(PARTS) == [question]) == (word in serves), word
