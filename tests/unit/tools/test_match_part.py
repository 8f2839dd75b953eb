"""Which part is meant: its number, its name, an alias, or a name that says a little more or less."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.models.plant import SparePart
from tests.helpers.contexts import a_part
from tools.query_spare_parts import NEAR_SCORE, match
from tools.sources import STATEMENT_SECONDS

SCREEN = a_part("TP-MT8071", "触摸屏", "触控屏", "人机界面", "HMI", "touch screen", quantity=0, minimum=1)
STORE = [
    SCREEN,
    a_part("SP-1001", "通讯模块", "RS485 模块", "communication module"),
    a_part("SP-1002", "M6 内六角螺栓", "hex bolt M6"),
    a_part("SP-1003", "M8 内六角螺栓", "hex bolt M8"),
    a_part("SP-1004A", "PLC 输入模块", "PLC input module"),
    a_part("SP-1004B", "PLC 输出模块", "PLC output module"),
    a_part("BR-6205", "深沟球轴承 6205-2RS", "6205-2RS"),
    a_part("PS-24", "开关电源 24 V", "24V 电源", "power supply"),
    a_part("MT-22", "减速电机 2.2KW", "gear motor"),
    a_part("LF-1", "左侧导轨滑块"),
    a_part("SE-1", "光电传感器A", "photoelectric sensor A"),
    a_part("NZ-503", "Nozzle 503", "吸嘴", "pick-up nozzle"),
    a_part("PK-1", "泵", "pump"),
]


def number_of(wanted: str, store: list[SparePart] = STORE) -> str | None:
    facts = match(wanted, store)
    return facts.number if facts is not None else None


@pytest.mark.parametrize(
    "wanted",
    ["TP-MT8071", "tp-mt8071", "TPMT8071", "ＴＰ－ＭＴ８０７１", " tp mt8071 ", "tp_mt8071", "TP–MT8071",
     "触摸屏", " 触 摸 屏 ", "触摸屏\u200b", "HMI", "hmi", "ＨＭＩ", "H.M.I", "touch screen",
     "Touch-Screen", "TOUCHSCREEN"],
)  # fmt: skip
def test_a_number_name_or_alias_in_any_spelling_is_an_exact_match(wanted: str) -> None:
    facts = match(wanted, STORE)
    assert facts is not None
    assert (facts.number, facts.name, facts.score) == ("TP-MT8071", "触摸屏", 100.0)


def test_a_near_name_says_what_it_was_matched_as_and_how_well() -> None:
    facts = match("触摸屏驱动", STORE)
    assert facts is not None
    assert (facts.number, facts.name, facts.matched_as) == ("TP-MT8071", "触摸屏", "触摸屏")
    assert NEAR_SCORE <= facts.score < 100


@pytest.mark.parametrize(
    ("wanted", "number"),
    [
        ("触摸屏总成", "TP-MT8071"),
        ("touch screen assembly", "TP-MT8071"),
        ("touch scren", "TP-MT8071"),
        ("tuoch screen", "TP-MT8071"),
        ("screen, touch", "TP-MT8071"),
        ("communication modul", "SP-1001"),
        ("M6 内六角", "SP-1002"),
        ("内六角螺栓 M8", "SP-1003"),
        ("Nozzle no. 503", "NZ-503"),
        ("power supply unit", "PS-24"),
        ("24V 开关电源", "PS-24"),
    ],
)
def test_a_name_that_says_a_little_more_or_less_is_near(wanted: str, number: str) -> None:
    facts = match(wanted, STORE)
    assert facts is not None
    assert facts.number == number
    assert facts.score < 100


@pytest.mark.parametrize(
    ("wanted", "not_this"),
    [
        ("M8 外六角螺母", "M6 内六角螺栓"),
        ("M10 内六角螺栓", "a bolt of another size"),
        ("M60 内六角螺栓", "M6 in M60"),
        ("hex bolt M5", "hex bolt M6"),
        ("G6 内六角螺栓", "another thread"),
        ("6205-2Z", "6205-2RS"),
        ("深沟球轴承 6204-2RS", "6205"),
        ("24A 电源", "24V"),
        ("开关电源 12 V", "24 V"),
        ("减速电机 22KW", "2.2KW"),
        ("减速电机 0.75KW", "2.2KW"),
        ("Nozzle 504", "Nozzle 503"),
        ("PLC 输送模块", "输入 or 输出"),
        ("右侧导轨滑块", "左侧导轨滑块"),
        ("光电传感器B", "光电传感器A"),
        ("photoelectric sensor B", "photoelectric sensor A"),
    ],
)
def test_a_name_that_says_something_else_is_not_near(wanted: str, not_this: str) -> None:
    assert number_of(wanted) is None, f"matched {not_this}"


@pytest.mark.parametrize(
    "wanted",
    ["SP-1005", "SP-100", "SP-10010", "SP-1004C", "SP-1004", "SPX-1001", "XSP-1001", "1001", "S-1001",
     "TP-MT8072", "TP-MT807", "MT8071", "BR-6206", "LF1A", "SE-1B", "NZ-50"],
)  # fmt: skip
def test_a_part_number_is_the_very_one_or_none(wanted: str) -> None:
    assert number_of(wanted) is None


@pytest.mark.parametrize(
    "wanted", ["屏", "触", "触摸", "模块", "电源", "轴承", "泵阀", "a", "A", "M", "6", "24", "%", "—"]
)
def test_a_name_too_short_to_tell_is_near_nothing(wanted: str) -> None:
    assert number_of(wanted) is None


def test_a_short_name_that_is_exactly_one_is_found() -> None:
    assert number_of("泵") == "PK-1"
    assert number_of("吸嘴") == "NZ-503"


@pytest.mark.parametrize("wanted", ["内六角螺栓", "hex bolt", "PLC 模块", "PLC module"])
def test_a_name_that_is_as_near_to_one_part_as_to_another_is_neither(wanted: str) -> None:
    assert number_of(wanted) is None


@pytest.mark.parametrize(
    "wanted", ["冷却水泵叶轮", "伺服驱动器", "drive belt", "液压油", "交互屏贴合机A1", "老化架C1"]
)
def test_what_the_store_does_not_have_is_not_found(wanted: str) -> None:
    assert number_of(wanted) is None


def test_a_stock_of_zero_is_found_and_below_its_minimum() -> None:
    facts = match("触摸屏", STORE)
    assert facts is not None
    assert (facts.quantity, facts.minimum, facts.below_minimum) == (0, 1, True)


@pytest.mark.parametrize(
    ("quantity", "minimum", "below"),
    [(0, 0, False), (2, 2, False), (1, 2, True), (3, 2, False), (0, 1, True)],
)
def test_below_minimum_is_less_than_the_minimum(quantity: int, minimum: int, below: bool) -> None:
    facts = match("件件件", [a_part("N-1", "件件件", quantity=quantity, minimum=minimum)])
    assert facts is not None
    assert facts.below_minimum is below


def test_a_number_goes_before_another_parts_name_and_a_name_before_an_alias() -> None:
    store = [
        a_part("A-1", "旧件", "B-1", "新件"),
        a_part("B-1", "新件", "A-1"),
        a_part("C-1", "B-1"),
    ]
    assert number_of("B-1", store) == "B-1"
    assert number_of("A-1", store) == "A-1"
    assert number_of("新件", store) == "B-1"


@pytest.mark.parametrize("wanted", ["触摸屏", " 触 摸 屏 ", "TP-8071", "屏"])
def test_of_several_parts_that_are_called_just_so_the_others_are_named(wanted: str) -> None:
    store = [
        a_part("N-1", "触摸屏", "TP 8071", "屏"),
        a_part("N-3", "触摸屏", "TP8071", "屏", "屏"),
        a_part("N-2", "触摸屏", "tp8071", "屏"),
        a_part("N-4", "触摸屏驱动"),
    ]
    facts = match(wanted, store)
    assert facts is not None
    assert (facts.number, facts.others) == ("N-1", ["N-2", "N-3"])


def test_of_very_many_others_only_some_are_named() -> None:
    facts = match("触摸屏", [a_part(f"N-{number:05}", "触摸屏") for number in range(20_000)])
    assert facts is not None
    assert facts.others == ["N-00001", "N-00002", "N-00003", "N-00004", "N-00005", "…"]


def test_what_is_called_so_by_number_or_name_leaves_no_doubt_about_an_alias() -> None:
    store = [a_part("N-1", "触摸屏", "N-2"), a_part("N-2", "屏", "触摸屏"), a_part("N-3", "板", "屏")]
    for wanted, number in {"N-2": "N-2", "触摸屏": "N-1", "屏": "N-2"}.items():
        facts = match(wanted, store)
        assert facts is not None
        assert (facts.number, facts.others) == (number, [])


def test_an_exact_name_goes_before_any_near_one() -> None:
    store = [a_part("N-1", "触摸屏驱动板"), a_part("N-2", "触摸屏"), a_part("N-3", "触摸屏驱动")]
    assert number_of("触摸屏", store) == "N-2"
    assert number_of("触摸屏驱动", store) == "N-3"
    assert number_of("触摸屏驱动板卡", store) == "N-1"


def test_two_names_of_one_part_that_are_equally_near_are_no_doubt() -> None:
    store = [a_part("N-1", "真空发生器 A", "真空发生器 B")]
    assert number_of("真空发生器", store) == "N-1"


def test_an_empty_store_has_nothing() -> None:
    assert match("触摸屏", []) is None


def test_a_large_store_is_asked_in_a_fraction_of_the_time_a_source_has() -> None:
    store = [a_part(f"SP-{n}", f"零件{n} 传感器", f"sensor type {n}", f"别名{n}") for n in range(5_000)]
    match("触摸屏驱动", store)
    begun = time.process_time()
    assert match("零件4711 传感", store) is not None
    assert match("触摸屏驱动", store) is None
    assert time.process_time() - begun < STATEMENT_SECONDS / 2


@given(st.text(max_size=200))
def test_any_wanted_name_is_answered_without_an_error(wanted: str) -> None:
    facts = match(wanted, STORE)
    assert facts is None or NEAR_SCORE <= facts.score <= 100


@given(st.sampled_from([(part, name) for part in STORE for name in (part.number, part.name, *part.aliases)]))
def test_every_part_is_found_by_each_of_its_own_names(own: tuple[SparePart, str]) -> None:
    part, name = own
    facts = match(name, STORE)
    assert facts is not None
    assert (facts.number, facts.score, facts.matched_as) == (part.number, 100.0, name)
