"""`alarm-worker probe`: what it prints of an answer, and the exit code by which a machine goes."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from worker.cli import app
from worker.commands import probing as probe
from worker.commands.probing import TO_CLAIM, TO_DISPATCH, TO_INTAKE, Answer

LEGS = {TO_INTAKE: 12, TO_DISPATCH: 1085, TO_CLAIM: 27}
WORKS = Answer("t", works=True, legs_ms=LEGS, total_ms=1124, claimed_by="host:7")
STUCK = Answer("t", stuck=TO_DISPATCH, said="no task was sent", legs_ms={TO_INTAKE: 12})
BUSY = Answer("t", stuck=TO_CLAIM, said="every thread is taken", busy=True)
HUNG = Answer("t", stuck=TO_CLAIM, said="its event loop hangs")
AWAY = Answer("t", stuck="broker", said="the broker does not take the probe")


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "andon.db").touch()
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'andon.db'}")
    monkeypatch.setenv("BROKER_URL", "redis://:secret@127.0.0.1:1/0")


def call(monkeypatch: pytest.MonkeyPatch, answer: Answer, *options: str) -> Result:
    monkeypatch.setattr(probe, "ask", lambda *_: answer)
    return CliRunner().invoke(app, ["probe", *options])


def test_a_line_that_works_says_how_long_each_leg_took(monkeypatch: pytest.MonkeyPatch) -> None:
    done = call(monkeypatch, WORKS)
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "stream to intake          12 ms",
        "intake to dispatch     1,085 ms",
        "dispatch to claim         27 ms",
        "in all                 1,124 ms, claimed by host:7",
    ]


def test_a_line_that_is_stuck_says_where_after_the_legs_that_went_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = call(monkeypatch, STUCK)
    assert (done.exit_code, done.stdout) == (1, "stream to intake          12 ms\n")
    assert done.stderr == "error: the probe is stuck from intake to dispatch: no task was sent\n"


def test_what_cannot_be_asked_is_named_with_its_address_and_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = call(monkeypatch, AWAY)
    assert done.exit_code == 1
    where = "(BROKER_URL redis://:***@127.0.0.1:1/0)"
    assert done.stderr == f"error: the broker does not take the probe {where}\n"


@pytest.mark.parametrize(
    ("answer", "options", "code"),
    [
        (BUSY, [], 1),
        (BUSY, ["--allow-busy"], 0),
        (HUNG, ["--allow-busy"], 1),
        (STUCK, ["--allow-busy"], 1),
        (WORKS, ["--allow-busy"], 0),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_busy_line_is_well_where_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, options: list[str], code: int, form: list[str]
) -> None:
    done = call(monkeypatch, answer, *options, *form)
    assert done.exit_code == code
    assert answer.said in done.output


def test_json_has_all_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    expected: dict[str, Any] = {
        "token": "t",
        "works": False,
        "legs_ms": {TO_INTAKE: 12},
        "total_ms": 0,
        "claimed_by": None,
        "stuck": "intake_to_dispatch",
        "said": "no task was sent",
        "busy": False,
    }
    assert json.loads(call(monkeypatch, STUCK, "--json").stdout) == expected


def test_the_options_reach_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def ask(_database: Any, *rest: Any) -> Answer:
        asked.append(rest)
        return WORKS

    monkeypatch.setattr(probe, "ask", ask)
    CliRunner().invoke(app, ["probe", "--timeout", "7", "--worker", "celery@here"])
    CliRunner().invoke(app, ["probe"])
    url = "redis://:secret@127.0.0.1:1/0"
    assert asked == [(url, 7.0, "celery@here"), (url, 30.0, None)]
