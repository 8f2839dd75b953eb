"""What a model's words name that is not this alarm's: found where it is plain, and nothing else is."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from db.models.order import StepName
from db.queries import plant as queries
from db.session import Database
from db.settings import Language
from tests.helpers.contexts import a_context, a_context_without_sources, manual_of, part_of
from tools import search_manual
from tools.flags import MAX_FLAGS, MAX_TEXT, Known, Own, flags
from tools.look_up import Search
from worker.agent.runbook import plan

LINES = ["交互屏组装A线", "交互屏组装B线", "整机老化C线", "SMT Line 1", "Packing Line 2"]
KNOWN = Known.of(LINES, ["E401", "E402", "E101", "S201", "R311", "AL07", "0305", "M8"])
OWN = Own.of(a_context_without_sources())


def found(text: str, own: Own = OWN, known: Known = KNOWN) -> list[tuple[str, str]]:
    return [(flag["kind"], flag["text"]) for flag in flags(text, [], own, known)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("见工单WO-20261130-0001。", [("order", "WO-20261130-0001")]),
        ("same as wo 20261130-0001", [("order", "wo 20261130-0001")]),
        ("ＷＯ－２０２６１１３０－０００１", [("order", "ＷＯ－２０２６１１３０－０００１")]),
        ("整机老化C线停机", [("line", "整机老化C线")]),
        ("整机 老化 c 线", [("line", "整机 老化 c 线")]),
        ("SMT-Line 1 and smt line 1", [("line", "SMT-Line 1")]),
        ("请联系组装B线", [("line", "组装B线")]),
        ("包装D线没有的线", [("line", "包装D线")]),
        ("产线B、3号产线", [("line", "产线B"), ("line", "3号产线")]),
        ("Line B is down, on line 3", [("line", "Line B"), ("line", "on line 3")]),
        ("参照E402处理", [("code", "E402")]),
        ("Ｅ４０２", [("code", "Ｅ４０２")]),
        ("e-402 or Err 402", [("code", "e-402")]),
        ("E999", [("code", "E999")]),
        ("E\u200b999", [("code", "E\u200b999")]),
        ("E0401 is not E401", [("code", "E0401")]),
        ("S201、R311/E402", [("code", "S201"), ("code", "R311"), ("code", "E402")]),
        ("报警 AL-07", [("code", "AL-07")]),
        ("故障码：SV412", [("code", "SV412")]),
        ("error 305, alarm code 0305", [("code", "error 305"), ("code", "0305")]),
        ("代码 M8", [("code", "M8")]),
    ],
)
def test_another_order_line_or_code_is_found_as_it_is_written(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "交互屏组装A线 交互屏贴合机A1 报警 E401",
        "E-401, Err 401, ERR_401, Ｅ４０１, error 401, E401.0",
        "A线、组装A线、产线A、Line A",
        "检查 24V 电源、DC24V、AC220V、380 V、0.5A",
        "M6 螺丝、M8×20、M12接头、G1/4",
        "95%、E95%、误差 3.5 %",
        "2026-11-30、2026/11/30 08:30、20261130、Nov 2026",
        "TP-MT8071、CM-485-02、SP-1001、PF-0412、HC-500、S7-1200、6204-2RS、NZ-503",
        "RS485、RS-232、PT100、IP65、SUS304、Q235、ISO9001、IEC 60204、PE100",
        "485的A线和B线，L线、N线、24V线、三相U线、信号线、排线、地线",
        "继电器K101、K102 接触器、传感器 B205、relay K101, valve Y203",
        "line 24 V, on line 12V, in line with this",
        "two-2020, WOrkshop 2020, WO-1",
        "上锁挂牌 5 分钟，扭矩 12 N·m，55 °C，-60 kPa，10 kΩ，第 3 步，page 112",
        "长" * 4_000,
        "",
    ],
)
def test_what_is_this_alarms_or_no_name_at_all_is_not_flagged(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("own_line", "text", "expected"),
    [
        ("SMT Line 1", "Line 1, line 1, SMT line 1", []),
        ("SMT Line 1", "Line 2", ["Line 2"]),
        ("Packing Line 2", "SMT Line 1", ["SMT Line 1"]),
        ("总装线", "产线B", []),  # without a letter of its own, a short name may be this one
        ("A", "A, B and C", []),
        ("A线", "交互屏组装A线", ["交互屏组装A线"]),
    ],
)
def test_a_short_name_is_the_own_line_where_it_may_be(own_line: str, text: str, expected: list[str]) -> None:
    assert [flag["text"] for flag in flags(text, [], Own("E401", own_line), KNOWN)] == expected


@pytest.mark.parametrize(
    ("own", "text", "expected"),
    [
        ("SV0401", "SV0402 SV0401 E402 E999", ["SV0402", "E402"]),
        ("AL12", "AL13 AL12 XY99", ["AL13", "XY99"]),
        ("0401", "0401 0402 0305 E999; 报警 0305", ["0305"]),
        ("M301", "M302 M6", ["M302"]),
        ("-113", "-114 E999", []),
    ],
)
def test_the_shape_of_a_code_is_that_of_the_alarms_own(own: str, text: str, expected: list[str]) -> None:
    assert [flag["text"] for flag in flags(text, [], Own(own, LINES[0]), KNOWN)] == expected


def test_a_flag_says_what_where_and_each_thing_once_in_each_place() -> None:
    said = flags("E402 与 e402", ["检查", "WO-20261130-0001", "E402"], OWN, KNOWN)
    assert said == [
        {"kind": "code", "text": "E402", "where": "diagnosis"},
        {"kind": "order", "text": "WO-20261130-0001", "where": "actions[1]"},
        {"kind": "code", "text": "E402", "where": "actions[2]"},
    ]


def test_what_the_manual_the_parts_and_the_roster_say_may_be_repeated_but_not_what_the_alarm_says() -> None:
    context = a_context_without_sources(message="另见 E402 和 WO-20261130-0001")
    answers = {
        StepName.SEARCH_MANUAL: manual_of("备件 X777"),
        StepName.QUERY_SPARE_PARTS: part_of("E999", "触摸屏 E998", others=["E997"]),
    }
    for step, result in answers.items():
        context.ledger.record(context.ledger.question(step, "触摸屏"), result)
    own = Own.of(context)
    assert found("备件 X777、E999、E998、E997", own) == []
    assert found(context.alarm.message, own) == [("order", "WO-20261130-0001"), ("code", "E402")]


def test_the_flags_are_few_and_short_whatever_is_named() -> None:
    diagnosis = " ".join(f"E{number}" for number in range(100, 999)) + " WO-" + "1" * 3_000
    said = flags(diagnosis, [diagnosis] * 30, OWN, KNOWN)
    assert len(said) == MAX_FLAGS
    assert max(len(flag["text"]) for flag in said) <= MAX_TEXT


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_runbooks_own_text_is_never_flagged_for_any_entry_of_the_manual(
    plant: Database, language: Language
) -> None:
    with plant.reading() as session:
        known = Known.of(queries.line_names(session), queries.code_keys(session))
        entries = [(entry.fault_code, entry.equipment_class) for entry in queries.manual_all(session)]
        assert len(known.lines) == 5
        assert len(entries) == 20
        for line in queries.line_names(session):
            for code, equipment_class in [*entries, *((code, "") for code, _ in entries), ("E999", "")]:
                context = a_context(
                    plant, language, line_name=line, fault_code=code, equipment_class=equipment_class
                )
                result = search_manual.answer(context, session)
                if isinstance(result, Search):
                    result = result.answer(result.read(session))
                context.ledger.record(context.ledger.question(StepName.SEARCH_MANUAL), result)
                assert flags(*plan(context), Own.of(context), known) == []


tricky = st.text(
    alphabet=st.sampled_from(list("EWOSMe401-_. :#\n产线AB号组装line报警code工单WOＥ４０１\u200b\ufb03ß߀²")),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(
    diagnosis=st.text() | tricky,
    actions=st.lists(tricky | st.text(), max_size=3),
    own=st.builds(Own, tricky, tricky, st.tuples(tricky, tricky)),
    lines=st.lists(tricky, max_size=3),
    codes=st.lists(tricky, max_size=3),
)
@example("\ufdfa" * 50, [], OWN, ["\ufdfa"], ["\ufdfa"])
def test_no_text_and_no_plant_makes_it_fail(
    diagnosis: str, actions: list[str], own: Own, lines: list[str], codes: list[str]
) -> None:
    said: list[dict[str, Any]] = flags(diagnosis, actions, own, Known.of(lines, codes))
    places = {"diagnosis": diagnosis} | {f"actions[{n}]": text for n, text in enumerate(actions)}
    for flag in said:
        assert flag["kind"] in ("order", "line", "code")
        assert flag["text"] in places[flag["where"]]


@given(code=st.from_regex(r"[A-Z]{1,2}[0-9]{3,4}", fullmatch=True), line=st.text(min_size=1, max_size=20))
def test_an_order_may_always_name_its_own_code_and_line(code: str, line: str) -> None:
    assert (
        flags(f"{line} {code}", [f"“{line}”", f"({code})"], Own(code, line), Known.of([line], [code])) == []
    )
