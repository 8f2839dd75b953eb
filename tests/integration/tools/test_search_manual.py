"""What the manual says of an alarm: its own class's entry, candidates for a person, or what reads alike."""

import time
from typing import Any

import pytest

from db.models.plant import Equipment, ManualEntry
from db.queries import plant as plant_queries
from db.session import Database
from db.settings import Language
from tests.helpers.contexts import a_context, an_entry
from tools.look_up import Search
from tools.result import ManualFacts, ToolResult
from tools.search_manual import answer, by_symptom
from tools.sources import STATEMENT_SECONDS


def asked(
    database: Database, language: Language = "zh", known: list[Equipment] | None = None, **alarm: Any
) -> ToolResult:
    """The manual's answer for an alarm that has no message unless one is given."""
    facts = {"message": "", "equipment": "", "equipment_class": ""} | alarm
    context = a_context(database, language=language, known=known, **facts)
    with database.reading() as session:
        result = answer(context, session)
        return result.answer(result.read(session)) if isinstance(result, Search) else result


def found(result: ToolResult) -> list[tuple[str, str]]:
    assert isinstance(result.facts, ManualFacts)
    return [(item.fault_code, item.equipment_class) for item in result.facts.entries]


def added(database: Database, *entries: ManualEntry) -> None:
    with database.writing() as session:
        session.add_all(entries)


def alike(database: Database, message: str, equipment_class: str = "") -> list[str]:
    with database.reading() as session:
        everything = plant_queries.manual_all(session)
    return [entry.fault_code for entry in by_symptom(everything, message, equipment_class)]


def test_the_entry_of_the_alarms_own_class_is_the_answer(plant: Database) -> None:
    result = asked(plant, fault_code="E401", equipment_class="贴合机")
    assert isinstance(result.facts, ManualFacts)
    assert result.status == "success"
    assert (result.facts.matched_by, result.facts.ambiguous) == ("code", False)
    [item] = result.facts.entries
    assert item.title == "触摸屏通讯中断"
    assert item.parts == ["触摸屏"]
    assert item.safety == ["按下停止并等待运动部件停稳", "断电并挂牌上锁后再插拔接头"]
    assert len(item.causes) == 3
    assert len(item.steps) == 4
    assert "E401" in result.message
    assert item.title in result.message


def test_a_code_and_a_class_are_found_however_they_are_written(plant: Database) -> None:
    for code in ("e401", "Err-401", "Ｅ４０１", "E401.0", "ERR_401"):
        for equipment_class in ("贴合机", " 贴 合 机 ", ""):
            result = asked(plant, fault_code=code, equipment_class=equipment_class)
            assert found(result) == [("E401", "贴合机")]
            assert not getattr(result.facts, "ambiguous", True)


def test_a_class_that_only_the_equipment_list_knows_serves_as_well(plant: Database) -> None:
    with plant.reading() as session:
        known = plant_queries.equipment(session, "SMT Line 1")
    for equipment, expected in (("Placer P1", "Placer"), ("Reflow Oven R1", "Reflow oven")):
        result = asked(plant, known=known, line_name="SMT Line 1", equipment=equipment, fault_code="E210")
        assert found(result) == [("E210", expected)]


@pytest.mark.parametrize(
    ("code", "classes"),
    [
        ("E101", {"贴合机", "锁螺丝机"}),
        ("E210", {"Placer", "Reflow oven"}),
        ("E300", {"Palletizing robot", "Case sealer"}),
    ],
)
def test_a_code_that_several_classes_share_gives_its_candidates_when_the_class_is_unknown(
    plant: Database, code: str, classes: set[str]
) -> None:
    result = asked(plant, fault_code=code)
    assert result.status == "success"
    assert isinstance(result.facts, ManualFacts)
    assert result.facts.ambiguous
    assert {equipment_class for _code, equipment_class in found(result)} == classes
    assert all(name in result.message for name in classes)


def test_a_class_the_manual_never_heard_of_rules_nothing_out_and_settles_nothing(plant: Database) -> None:
    """贴合设备 may be what this plant calls a 贴合机: a person must say."""
    one = asked(plant, fault_code="E401", equipment_class="贴合设备")
    assert one.status == "success"
    assert found(one) == [("E401", "贴合机")]
    assert getattr(one.facts, "ambiguous", False)
    several = asked(plant, fault_code="E101", equipment_class="点胶机")
    assert len(found(several)) == 2


def test_a_class_that_the_manual_knows_without_this_code_has_no_entry(plant: Database) -> None:
    """E401 of another kind of machine is another fault; to say nothing is better than to say that."""
    result = asked(plant, fault_code="E401", equipment_class="老化架")
    assert result.status == "not_found"
    assert result.facts is None
    assert "E401 (老化架)" in result.message


def test_a_shared_code_of_a_third_class_is_not_found_either(plant: Database) -> None:
    assert asked(plant, fault_code="E101", equipment_class="老化架").status == "not_found"


def test_a_code_that_only_looks_like_one_is_not_found(plant: Database) -> None:
    for code in ("E40", "E4010", "0401", "401", "E0401", "X999", "E401-1"):
        result = asked(plant, fault_code=code)
        assert (code, result.status, result.facts) == (code, "not_found", None)


SYMPTOMS = {
    "触摸屏黑屏": "E401",
    "触摸无响应": "E401",
    "触摸屏没有反应，画面停住": "E401",
    "上位机显示：与触摸屏的通讯中断！": "E401",
    "贴合时玻璃吸不住，真空表读数低": "E402",
    "对位画面不刷新": "E403",
    "老化架温度高于 60 °C": "T301",
    "电源保护停机": "P501",
    "轨道内螺丝不前进": "S202",
    "Pick errors on one nozzle": "F211",
    "ALARM: NOZZLE CLOGGED (head 3)": "F211",
    "Ｐｉｃｋ errors on ONE nozzle.": "F211",
    "Boards stand still in the oven": "R311",
    "boxes slip from gripper": "K601",
    "the reel has run out": "F210",
    "Exhaust flow low, fan motor not running": "E210",
    "glue strings": "K702",
}
NO_SYMPTOMS = [
    "", " ", "。", "报警", "温度", "low", "急停", "真空", "无响应", "A", "1234", "\n\n",
    "轴承异响", "液压油泄漏", "请按说明书操作", "未知错误", "设备报警", "系统故障，请联系管理员", "换班提醒",
    "伺服驱动器过载", "产量统计上传失败", "A4 纸张不足", "网络连接超时", "报警 17",
    "unknown error", "Machine is on fire", "The printer is out of paper", "please check the machine",
    "the operator called maintenance", "Alarm 17 active at station 4", "operator left the station",
    "Servo drive overload axis 3", "is the of and on the", "in the oven", "PLC battery low",
    "Communication with the MES has been lost",
]  # fmt: skip


def test_an_unknown_code_is_looked_for_by_its_symptom(plant: Database) -> None:
    assert {message: alike(plant, message)[:1] for message in SYMPTOMS} == {
        message: [code] for message, code in SYMPTOMS.items()
    }


def test_what_was_found_by_its_symptom_is_for_a_person_to_confirm(plant: Database) -> None:
    result = asked(plant, fault_code="X999", message="触摸屏黑屏")
    assert result.status == "success"
    assert isinstance(result.facts, ManualFacts)
    assert (result.facts.matched_by, result.facts.ambiguous) == ("symptom", True)
    assert "X999" in result.message


def test_a_message_that_says_nothing_of_a_symptom_finds_nothing(plant: Database) -> None:
    assert {message: alike(plant, message) for message in NO_SYMPTOMS} == {said: [] for said in NO_SYMPTOMS}
    assert asked(plant, fault_code="X999", message="").status == "not_found"
    assert asked(plant, fault_code="X999", message="未知错误").status == "not_found"


def test_a_symptom_is_looked_for_in_the_alarms_own_class(plant: Database) -> None:
    message = "The safety gate is open; the guard door lamp is lit"
    assert set(alike(plant, message)) == {"E300"}
    assert len(alike(plant, message)) == 2
    result = asked(plant, fault_code="X999", message=message, equipment_class="case sealer")
    assert found(result) == [("E300", "Case sealer")]
    assert alike(plant, message, "Placer") == []


def test_a_symptom_of_a_class_the_manual_never_heard_of_is_looked_for_everywhere(plant: Database) -> None:
    assert alike(plant, "触摸屏黑屏", "贴合设备") == ["E401"]


def test_the_best_likeness_comes_first_and_three_are_enough(database: Database) -> None:
    added(
        database,
        *(an_entry(f"Z{n}", "机", f"标题{n}", "主轴电机过热；冷却液不足") for n in range(5)),
        an_entry("Z9", "机", "主轴电机过热停机"),
    )
    assert alike(database, "主轴电机过热停机") == ["Z9", "Z0", "Z1"]


def test_symptoms_are_not_found_in_an_entry_of_the_code_but_only_without_one(plant: Database) -> None:
    result = asked(plant, fault_code="E402", message="触摸屏黑屏")
    assert found(result) == [("E402", "贴合机")]


def test_an_empty_manual_finds_nothing(database: Database) -> None:
    assert asked(database, fault_code="E401", message="触摸屏黑屏").status == "not_found"


def test_an_entry_without_symptoms_or_lists_is_an_entry(database: Database) -> None:
    added(database, an_entry("E1", "机", "标题", causes=[], safety=[], steps=[], parts=[]))
    result = asked(database, fault_code="E1")
    assert result.status == "success"
    assert found(result) == [("E1", "机")]


def test_what_is_missing_says_which_part_to_ask_for_instead(plant: Database) -> None:
    assert "交互屏贴合机A1" in asked(plant, fault_code="X999", equipment="交互屏贴合机A1").suggestion
    assert "X999" in asked(plant, fault_code="X999").suggestion


def test_every_answer_is_worded_in_the_plants_language(plant: Database) -> None:
    for code, message in (("E401", ""), ("E101", ""), ("X999", ""), ("X999", "触摸屏黑屏")):
        english = asked(plant, "en", fault_code=code, message=message)
        assert "manual" in english.message.lower() or "entries" in english.message
        assert "手册" in asked(plant, "zh", fault_code=code, message=message).message
        assert english.suggestion.isascii() or "交互屏" in english.suggestion


def test_a_large_manual_and_a_long_message_are_answered_in_the_time_a_source_has(database: Database) -> None:
    symptom = "Pick retries on feeder {n}; the reel {n} has run out; 第 {n} 号轨道内螺丝不前进，振动过弱"
    added(database, *(an_entry(f"Q{n}", "机", f"Title {n}", symptom.format(n=n)) for n in range(2_000)))
    message = ("无关的话，与手册毫不相干的一段文字。" * 200)[:3_900] + "轨道内螺丝不前进"
    with database.reading() as session:
        everything = plant_queries.manual_all(session)
        by_symptom(everything, "warm", "")
        begun = time.process_time()
        by_symptom(everything, message, "")
        assert time.process_time() - begun < STATEMENT_SECONDS
