"""An alarm through the agent: what the order holds for each state of the data and each kind of model."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from db.session import Database
from tests.helpers.contexts import an_entry
from tests.helpers.endpoint import Conversation, Endpoint, Message, good, says, walks_the_calendar
from tests.helpers.line import Line, LookUps, close_models, statuses
from tests.helpers.support import an_alarm, only_postgresql

ALL_GOOD = {
    "search_manual": "success",
    "query_shift": "success",
    "query_spare_parts": "success",
    "generate_work_order": "success",
}
NO_ROSTER = ALL_GOOD | {"query_shift": "not_found"}
SOURCES = ("manual_entry", "roster_entry", "spare_part")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server


@pytest.fixture(autouse=True)
def _connections_closed() -> Iterator[None]:
    yield
    close_models()


def empty(database: Database, *tables: str) -> None:
    with database.writing() as session:
        for table in tables:
            session.execute(text(f"DELETE FROM {table}"))


def drop(database: Database, table: str) -> None:
    with database.writing() as session:
        session.execute(text(f"DROP TABLE {table}"))


def follow_ups(order: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(item["kind"], item["step"], item["subject"]) for item in order["follow_ups"]]


@pytest.mark.parametrize("model", [None, "good"])
def test_e401_on_a_line_without_a_roster_is_one_order_with_one_follow_up(
    plant: Database, endpoint: Endpoint, model: str | None
) -> None:
    with LookUps(plant) as look_ups:
        order = Line(plant, model, endpoint.url).order(an_alarm())
    assert statuses(order) == NO_ROSTER
    assert follow_ups(order) == [("missing", "query_shift", "交互屏组装A线")]
    assert [step["calls"] for step in order["steps"]] == [1, 1, 1, 1]
    assert [step["suppressed_calls"] for step in order["steps"]] == [0, 0, 0, 0]
    assert [look_ups.of(table) for table in SOURCES] == [1, 1, 1]
    assert order["planner"] == (model or "runbook")
    assert order["handover_reason"] is None
    assert order["model_calls"] == (3 if model else 0)
    assert (order["fault_code"], order["native_code"], order["line_name"]) == (
        "E401",
        "E401",
        "交互屏组装A线",
    )
    assert order["assignee"]


def test_a_model_that_walks_the_calendar_for_ever_gives_the_same_order(
    plant: Database, endpoint: Endpoint
) -> None:
    before = endpoint.requests["calendar"]
    with LookUps(plant) as look_ups:
        order = Line(plant, "calendar", endpoint.url).order(an_alarm())
    assert statuses(order) == NO_ROSTER
    assert follow_ups(order) == [("missing", "query_shift", "交互屏组装A线")]
    assert look_ups.of("roster_entry") <= 1
    assert order["planner"] == "runbook"
    assert order["handover_reason"] == "no_new_facts"
    assert endpoint.requests["calendar"] - before <= 8
    shift = order["steps"][1]
    assert (shift["calls"], shift["suppressed_calls"]) == (1, 2)
    assert shift["questions"][0]["given"][1] == {"date": "2026-08-02"}  # recorded, never obeyed


def test_sixty_four_stubborn_and_sixty_four_good_runs_in_one_handler_do_not_hinder_each_other(
    plant: Database,
) -> None:
    """One agent, one set of middleware, one model: what counts for one alarm must not count for another."""

    def by_severity(conversation: Conversation) -> Message:
        return walks_the_calendar(conversation) if conversation.alarm["severity"] == 1 else good(conversation)

    alarms = [an_alarm(severity=severity) for _ in range(64) for severity in (1, 900)]
    with Endpoint({"mixed": by_severity}) as server:
        outcomes = Line(plant, "mixed", server.url).start(*alarms).result(100)
    assert all(outcome.startswith("settled") for outcome in outcomes)
    query = (
        "SELECT severity, planner, handover_reason, max(model_calls), count(*) FROM work_order "
        "GROUP BY severity, planner, handover_reason ORDER BY severity"
    )
    with plant.reading() as session:
        counted = [tuple(row) for row in session.execute(text(query))]
    assert counted == [(1, "runbook", "no_new_facts", 3, 64), (900, "mixed", None, 3, 64)]


@pytest.mark.parametrize("model", [None, "good", "calendar"])
def test_with_everything_there_no_follow_up_is_opened(
    plant: Database, endpoint: Endpoint, model: str | None
) -> None:
    from datetime import UTC, datetime

    alarm = an_alarm(line_name="交互屏组装B线", equipment="交互屏贴合机B1", occurred_at=datetime.now(UTC))
    order = Line(plant, model, endpoint.url).order(alarm)
    assert statuses(order) == ALL_GOOD
    assert order["follow_ups"] == []
    assert order["assignee"] == order["shift"]["at_order"][0]["person"]


@pytest.mark.parametrize("model", [None, "good", "calendar"])
def test_with_all_three_sources_empty_there_are_three_follow_ups_and_still_one_order(
    plant: Database, endpoint: Endpoint, model: str | None
) -> None:
    empty(plant, *SOURCES)
    order = Line(plant, model, endpoint.url).order(an_alarm(equipment="交互屏贴合机A1"))
    assert set(statuses(order).values()) == {"not_found", "success"}
    assert sorted(follow_ups(order)) == [
        ("missing", "query_shift", "交互屏组装A线"),
        ("missing", "query_spare_parts", "交互屏贴合机A1"),
        ("missing", "search_manual", "E401 (贴合机)"),
    ]
    assert order["diagnosis"]
    assert order["actions"]


@pytest.mark.parametrize("model", [None, "good"])
@pytest.mark.parametrize(
    ("table", "step"),
    [
        ("manual_entry", "search_manual"),
        ("roster_entry", "query_shift"),
        ("spare_part", "query_spare_parts"),
    ],
)
def test_a_source_whose_table_is_missing_is_unavailable_and_not_not_found(
    plant: Database, endpoint: Endpoint, model: str | None, table: str, step: str
) -> None:
    drop(plant, table)
    order = Line(plant, model, endpoint.url).order(an_alarm())
    assert statuses(order)[step] == "unavailable"
    assert next(kind for kind, of, _subject in follow_ups(order) if of == step) == "source_down"


@only_postgresql
def test_a_locked_source_is_unavailable(plant: Database) -> None:
    with plant.writing() as session:
        session.execute(text("LOCK TABLE roster_entry IN ACCESS EXCLUSIVE MODE"))
        order = Line(plant).order(an_alarm())
    assert statuses(order) == ALL_GOOD | {"query_shift": "unavailable"}
    assert follow_ups(order) == [("source_down", "query_shift", "交互屏组装A线")]


def test_an_equipment_list_that_cannot_be_read_costs_only_what_it_knows(plant: Database) -> None:
    drop(plant, "equipment")
    order = Line(plant).order(an_alarm())
    assert statuses(order) == NO_ROSTER
    assert order["assignee"] is None


def test_a_stock_of_nothing_is_known_and_no_follow_up(plant: Database) -> None:
    with plant.writing() as session:
        session.execute(text("UPDATE spare_part SET quantity = 0"))
    order = Line(plant).order(an_alarm())
    assert statuses(order) == NO_ROSTER
    assert [part["quantity"] for part in order["parts"]] == [0]


def test_a_code_shared_by_two_classes_is_ambiguous_when_the_class_is_unknown(plant: Database) -> None:
    alarm = an_alarm(
        line_name="Unlisted line", equipment="", equipment_class="", fault_code="E-210", message=""
    )
    order = Line(plant, language="en").order(alarm)
    assert statuses(order)["search_manual"] == "success"
    assert ("ambiguous", "search_manual", "E210") in follow_ups(order)
    assert order["native_code"] == "E-210"


def test_an_order_asked_for_first_is_refused_and_then_made(plant: Database) -> None:
    def order_first(_conversation: Any) -> dict[str, Any]:
        return says("", ("generate_work_order", {"diagnosis": "坏了", "actions": ["修"]}))

    with Endpoint({"order_first": order_first}) as server:
        order = Line(plant, "order_first", server.url).order(an_alarm())
    assert statuses(order) == NO_ROSTER
    assert (order["planner"], order["handover_reason"]) == ("runbook", "no_new_facts")


def test_a_model_that_stops_early_is_reminded_once_and_then_handed_over(plant: Database) -> None:
    seen = []

    def gives_up(conversation: Any) -> dict[str, Any]:
        seen.append(conversation.messages[-1]["content"])
        return says("抱歉，没有排班数据。")

    with Endpoint({"gives_up": gives_up}) as server:
        order = Line(plant, "gives_up", server.url).order(an_alarm())
        assert server.requests["gives_up"] == 2
    assert "generate_work_order" in seen[1]
    assert statuses(order) == NO_ROSTER
    assert (order["planner"], order["handover_reason"], order["model_calls"]) == (
        "runbook",
        "stopped_early",
        2,
    )


def test_part_names_invented_without_end_leave_no_trace_on_what_the_order_lacks(plant: Database) -> None:
    def invents(conversation: Any) -> dict[str, Any]:
        return says(
            "", *(("query_spare_parts", {"part": f"虚构件{conversation.turn}{n}"}) for n in range(20))
        )

    with Endpoint({"invents": invents}) as server, LookUps(plant) as look_ups:
        order = Line(plant, "invents", server.url).order(an_alarm())
    assert statuses(order) == NO_ROSTER
    assert follow_ups(order) == [("missing", "query_shift", "交互屏组装A线")]
    parts = next(step for step in order["steps"] if step["step"] == "query_spare_parts")
    assert parts["calls"] == 6  # five of the model's own and the manual's
    assert look_ups.of("spare_part") <= 2 * 6  # by the very name, and where none has it, by near ones


def test_an_endpoint_that_is_not_there_is_a_handover(plant: Database) -> None:
    order = Line(plant, "good", "http://127.0.0.1:9/v1").order(an_alarm())
    assert statuses(order) == NO_ROSTER
    assert order["planner"] == "runbook"
    assert order["handover_reason"] == "model_failed: OpenAIConnectionError"
    assert order["model_calls"] == 2


def test_an_endpoint_that_hangs_is_left_at_the_deadline(plant: Database) -> None:
    import threading

    over = threading.Event()

    def hangs(_conversation: Any) -> dict[str, Any]:
        over.wait(30)
        return says("")

    with Endpoint({"hangs": hangs}) as server:
        line = Line(plant, "hangs", server.url, llm_timeout_seconds=30, agent_deadline_seconds=1)
        order = line.order(an_alarm())
        over.set()
    assert statuses(order) == NO_ROSTER
    assert order["handover_reason"] in ("deadline", "model_failed: TimeoutError")


def test_only_the_budget_of_model_calls_is_spent(plant: Database) -> None:
    def dawdles(conversation: Any) -> dict[str, Any]:
        return says("", ("query_spare_parts", {"part": f"虚构件{conversation.turn}"}))

    with Endpoint({"dawdles": dawdles}) as server:
        order = Line(plant, "dawdles", server.url, agent_max_model_calls=3).order(an_alarm())
        assert server.requests["dawdles"] == 3
    assert (order["handover_reason"], order["model_calls"]) == ("model_calls_spent", 3)
    assert (order["input_tokens"], order["output_tokens"]) == (300, 30)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_model_that_may_take_a_hundred_turns_takes_them_and_a_long_list_of_parts_is_asked_for(
    plant: Database,
) -> None:
    names = [f"零件{n}号" for n in range(60)]
    with plant.writing() as session:
        session.add(an_entry("E777", "贴合机", "多处磨损", parts=names))

    def one_part_every_other_turn(conversation: Conversation) -> Message:
        if conversation.turn == 0:
            return says("", ("search_manual", {}), ("query_shift", {}))
        return says("", ("query_spare_parts", {"part": names[conversation.turn // 2]}))

    with Endpoint({"slow": one_part_every_other_turn}) as endpoint:
        order = Line(plant, "slow", endpoint.url, agent_max_model_calls=100).order(
            an_alarm(fault_code="E777")
        )
    assert (order["handover_reason"], order["model_calls"]) == ("model_calls_spent", 100)
    assert order["steps"][2]["calls"] == len(names)
