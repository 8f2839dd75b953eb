"""The figures of an evaluation, and the tables that show them."""

from io import StringIO
from typing import Any

from rich.console import Console

from worker.eval.run import Job, Run
from worker.eval.scenarios import SCENARIOS
from worker.eval.score import Score
from worker.eval.setups import SETUPS, Setup
from worker.eval.table import figures, markdown, rich_table, rows
from worker.settings import AgentSettings

TEXT, *_, LAYERS = SETUPS


def a_run(setup: Setup, **changed: Any) -> Run:
    given: dict[str, Any] = {
        "ending": "right order",
        "score": Score(True, 4, 4, ()),
        "requests": 3,
        "look_ups": 3,
        "suppressed": 0,
        "repaired": 0,
        "handover_reason": None,
        "input_tokens": 300,
        "output_tokens": 30,
        "seconds": 0.5,
    } | changed
    return Run(job=Job(SCENARIOS[0], setup, AgentSettings(_env_file=None, llm_model="a model")), **given)


RUNS = [
    a_run(TEXT, ending="recursion limit", score=Score(False, 0, 4, ("no order",)), requests=13, look_ups=12),
    a_run(TEXT, ending="no order", score=Score(False, 0, 4, ("no order",)), requests=1, look_ups=0),
    a_run(LAYERS, seconds=1.5, suppressed=2, repaired=1, handover_reason="no_new_facts"),
    a_run(LAYERS),
]


def test_the_figures_are_of_the_set_ups_own_alarms() -> None:
    plain, layers = figures(TEXT, RUNS), figures(LAYERS, RUNS)
    assert (plain["alarms"], plain["orders_correct"], plain["steps_right"], plain["steps"]) == (2, 0, 0, 8)
    assert plain["requests"] == {"mean": 7.0, "most": 13}
    assert plain["endings"] == {"recursion limit": 1, "no order": 1}
    assert (layers["orders_correct"], layers["steps_right"]) == (2, 8)
    assert (layers["suppressed"], layers["repaired"], layers["handed_over"]) == (2, 1, 1)
    assert layers["handovers"] == {"no_new_facts": 1}
    assert layers["seconds"] == {"mean": 1.0, "most": 1.5}


def test_a_set_up_without_a_run_has_figures_too() -> None:
    empty = figures(TEXT, [])
    assert (empty["alarms"], empty["requests"], empty["endings"]) == (0, {"mean": 0, "most": 0}, {})


def test_each_way_to_end_and_each_reason_has_a_row_with_a_cell_a_set_up() -> None:
    found = {name: cells for name, *cells in rows([figures(TEXT, RUNS), figures(LAYERS, RUNS)])}
    assert found["orders correct"] == ["0/2", "2/2"]
    assert found["ended: recursion limit"] == ["1", "0"]
    assert found["ended: right order"] == ["0", "2"]
    assert found["handed over: no_new_facts"] == ["0", "1"]
    assert found["model calls, mean (most)"] == ["7.0 (13)", "3.0 (3)"]
    assert found["seconds, mean (most)"] == ["0.5 (0.5)", "1.0 (1.5)"]


def test_the_table_fits_a_terminal_of_80_columns() -> None:
    console = Console(width=80, record=True, file=StringIO())
    console.print(rich_table([figures(setup, RUNS) for setup in SETUPS]))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert ["orders", "correct", "0/2", "0/0", "0/0", "2/2"] in lines
    assert ["ended:", "recursion", "limit", "1", "0", "0", "0"] in lines


def test_a_markdown_table_has_a_head_a_rule_and_a_line_a_row() -> None:
    assert markdown(["", "a", "b"], [["x", "1", "2"]]) == "|  | a | b |\n| --- | ---: | ---: |\n| x | 1 | 2 |"


def test_a_row_for_json_is_flat_and_names_what_was_run() -> None:
    row = RUNS[0].row()
    assert (row["setup"], row["scenario"], row["model"]) == ("text", SCENARIOS[0].name, "a model")
    assert (row["correct"], row["wrong"], row["ending"]) == (False, ("no order",), "recursion limit")
    assert "job" not in row
    assert "score" not in row
