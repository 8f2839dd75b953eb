"""`alarm-worker eval`, over HTTP with scripted models: what it measures, and that nothing can hang it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from db.settings import PlantSettings
from tests.eval_table import by_kind, measured
from tests.helpers.endpoint import Behaviour, Reply, completion, good, walks_the_calendar
from tests.helpers.eval_models import AnyEndpoint, fit
from tests.helpers.line import shared_loop
from tests.helpers.processes import environment
from tests.helpers.support import eventually
from tests.misbehaviour import ALL
from tests.misbehaviour.ways import bad_reply
from worker.eval.run import Evaluation, Job, Run
from worker.eval.scenarios import SCENARIOS
from worker.eval.setups import SETUPS
from worker.eval.table import figures
from worker.settings import AgentSettings

BEHAVIOURS: dict[str, Behaviour] = {
    "good": good,
    "loops/calendar": walks_the_calendar,
    "late": lambda conversation: Reply.json(completion(good(conversation)), pause_before_seconds=0.2),
    "hangs": bad_reply(Reply(pause_before_seconds=60)),
}
ONE_OF_EACH_STATE = list({scenario.missing: scenario for scenario in SCENARIOS}.values())
PLANT = PlantSettings(_env_file=None)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[AnyEndpoint]:
    with AnyEndpoint(fit(BEHAVIOURS)) as endpoint:
        yield endpoint


def evaluated(folder: Path, url: str, model: str, scenarios: int = 8, **limits: Any) -> list[Run]:
    """One alarm for each scenario and set-up."""
    settings = AgentSettings(_env_file=None, llm_model=model, openai_base_url=url, **limits)
    jobs = [Job(scenario, setup, settings) for scenario in ONE_OF_EACH_STATE[:scenarios] for setup in SETUPS]
    evaluation, ticks = Evaluation(folder, jobs, PLANT, at_once=4), []
    shared_loop().run(evaluation.work(lambda: ticks.append(1)))
    assert len(ticks) == len(evaluation.runs) == len(jobs)
    return evaluation.runs


def test_a_good_model_is_right_in_every_set_up_and_state_of_the_data(
    tmp_path: Path, endpoint: AnyEndpoint
) -> None:
    before = endpoint.requests["good"]
    runs = evaluated(tmp_path, endpoint.url, "good")
    assert [run.row() for run in runs if run.ending != "right order" or not run.score.correct] == []
    assert sum(run.requests for run in runs) == endpoint.requests["good"] - before
    for run in runs:
        assert run.requests == (4 if run.job.setup.plain else 3)  # a plain run goes on after its order
        assert (run.input_tokens, run.output_tokens) == (100 * run.requests, 10 * run.requests)
        assert (run.suppressed, run.handover_reason) == (0, None)
        assert 3 <= run.look_ups <= 5
    assert list(tmp_path.glob("run-*")) == []


def test_a_model_that_walks_the_calendar_ends_every_plain_run_at_its_limit_and_none_of_ours(
    tmp_path: Path, endpoint: AnyEndpoint
) -> None:
    runs = evaluated(tmp_path, endpoint.url, "loops/calendar", scenarios=3)
    *plain, layers = (figures(setup, runs) for setup in SETUPS)
    for found in plain:
        assert (found["orders_correct"], found["steps_right"]) == (0, 0)
        assert found["endings"] == {"recursion limit": 3}
        assert found["requests"]["most"] == 13
    assert layers["orders_correct"] == layers["alarms"] == layers["handed_over"]
    assert layers["steps_right"] == layers["steps"]
    assert layers["handovers"] == {"no_new_facts": 3}
    assert layers["suppressed"] > 0
    assert layers["requests"]["most"] <= 8


def test_an_endpoint_that_hangs_costs_a_run_its_deadline_and_no_more(
    tmp_path: Path, endpoint: AnyEndpoint
) -> None:
    runs = evaluated(tmp_path, endpoint.url, "hangs", scenarios=1, agent_deadline_seconds=1)
    assert {run.job.setup.key: run.ending for run in runs} == {
        "text": "deadline",
        "status": "deadline",
        "prompt": "deadline",
        "layers": "right order",
    }
    assert max(run.seconds for run in runs) < 1 + 2


def test_the_readmes_table_is_measured_from_the_misbehaviours() -> None:
    names = ["good", "wrong end/an answer at once", "loops/the shift for ever"]
    with AnyEndpoint(fit(ALL)) as endpoint:
        table = by_kind(measured(names, endpoint.url, shared_loop()))
    assert table == [
        ["good", "1/1", "1/1", "1/1", "1/1"],
        ["wrong end", "0/1", "0/1", "0/1", "1/1"],
        ["loops", "0/1", "0/1", "0/1", "1/1"],
        ["all", "1/3", "1/3", "1/3", "3/3"],
    ]


def run_command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "worker.cli", "eval", *arguments]
    return subprocess.run(
        command, env=environment(**variables), capture_output=True, text=True, timeout=100, check=False
    )


def test_the_command_reports_all_scenarios_as_json_and_keeps_them_in_a_file(
    tmp_path: Path, endpoint: AnyEndpoint
) -> None:
    out = tmp_path / "eval.json"
    done = run_command(
        "--setup", "layers", "--json", "--out", str(out), LLM_MODEL="good", OPENAI_BASE_URL=endpoint.url
    )
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert json.loads(out.read_text("utf-8")) == report
    assert (report["model"], report["alarms_planned"], report["alarms_handled"]) == ("good", 24, 24)
    (layers,) = report["setups"]
    assert (layers["setup"], layers["orders_correct"], layers["steps_right"]) == ("layers", 24, 96)
    assert {row["scenario"] for row in report["results"]} == {scenario.name for scenario in SCENARIOS}


def test_ctrl_c_ends_the_command_and_shows_what_was_measured_until_then(endpoint: AnyEndpoint) -> None:
    before = endpoint.requests["late"]
    command = [
        sys.executable,
        "-m",
        "worker.cli",
        "eval",
        "--setup",
        "layers",
        "--json",
        "--concurrency",
        "2",
    ]
    env = environment(LLM_MODEL="late", OPENAI_BASE_URL=endpoint.url)
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        eventually(lambda: endpoint.requests["late"] >= before + 9, 60)  # the third alarm is being handled
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=30)
    assert (running.returncode, errors) == (130, b"")
    report = json.loads(output)
    assert 2 <= report["alarms_handled"] < report["alarms_planned"]
    assert report["setups"][0]["orders_correct"] == report["alarms_handled"]


def test_the_command_without_a_model_says_what_it_wants() -> None:
    done = run_command()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: LLM_MODEL is not set")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--setup", "everything"], "'everything' is not one of"),
        (["--out", "/no/such/folder/eval.json"], "cannot write /no/such/folder/eval.json"),
    ],
)
def test_the_command_refuses_what_cannot_be_before_it_asks_a_model(arguments: list[str], said: str) -> None:
    done = run_command(*arguments, LLM_MODEL="good", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
