"""What the fault suite says of a row: it held only if all of it was done, and nothing in it is wrong."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.chaos import report
from tests.chaos.__main__ import app
from tests.chaos.books import Books
from tests.chaos.report import Row


def a_row(**facts: object) -> Row:
    row = Row("kill", "`kill -9`", "sqlite", 3, "")
    row.seconds_to_recover, row.books = [2.0, 9.0, 4.0], Books(accepted=1200, orders=900, attached=300)
    row.done = True
    for name, value in facts.items():
        setattr(row, name, value)
    return row


def test_a_row_that_held() -> None:
    assert a_row().held
    assert a_row().cells() == [
        "`kill -9`",
        "sqlite",
        "3",
        "1,200",
        "900",
        "300",
        "0",
        "0",
        "4.0",
        "9.0",
        "yes",
    ]


@pytest.mark.parametrize(
    "facts",
    [
        {"done": False},
        {"amiss": ["took 31 s to recover"]},
        {"books": Books(lost=["an alarm"])},
        {"books": Books(doubled=["an order"])},
        {"books": Books(amiss=["a gap"])},
    ],
)
def test_whatever_is_wrong_the_row_did_not_hold(facts: dict[str, object]) -> None:
    row = a_row(**facts)
    assert not row.held
    assert row.cells()[-1] != "yes"
    assert row.troubles() or not row.done


def test_a_row_that_was_broken_off_says_how_far_it_came() -> None:
    assert a_row(done=False, times=50).cells()[2] == "3 of 50"
    assert a_row(done=False, seconds_to_recover=[]).cells()[8:] == ["", "", "broken off"]


def test_the_table_is_written_as_markdown_with_its_command_and_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "table.md"
    report.write([a_row(notes=["a note"], amiss=["too slow"])], "python -m tests.chaos", file)
    text = file.read_text(encoding="utf-8")
    assert "$ python -m tests.chaos\n" in text
    assert "| `kill -9` | sqlite | 3 |" in text
    assert text.endswith("- kill on sqlite: a note\n- kill on sqlite: too slow\n")


def test_the_table_is_written_as_json(tmp_path: Path) -> None:
    file = tmp_path / "table.json"
    report.write([a_row()], "python -m tests.chaos", file)
    (row,) = json.loads(file.read_text(encoding="utf-8"))
    assert row["held"]
    assert row["books"]["accepted"] == 1200


@pytest.mark.parametrize("option", ["--fault", "--database"])
def test_a_name_that_there_is_not_is_refused(option: str) -> None:
    refused = CliRunner().invoke(app, [option, "weather"])
    assert refused.exit_code == 2
    assert "weather is none of" in refused.output
