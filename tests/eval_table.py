"""What each layer is worth: every misbehaviour in each set-up, as Markdown. `python -m tests.eval_table`"""

import logging
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from db.settings import PlantSettings
from tests.helpers.eval_models import AnyEndpoint, fit
from tests.misbehaviour import ALL
from tests.misbehaviour.injection import message_of
from worker.eval.run import Evaluation, Job, Run
from worker.eval.scenarios import TOUCH_SCREEN, Scenario
from worker.eval.setups import SETUPS
from worker.eval.table import figures, markdown, rows
from worker.process.loop import LoopThread
from worker.settings import AgentSettings

DEADLINE_SECONDS = 5
AT_ONCE = 4  # with more, a behaviour that takes much processor time would make others miss the deadline
PLANT = PlantSettings(_env_file=None, plant_language="zh", plant_timezone="Asia/Shanghai")


def measured(names: Iterable[str], url: str, loop: LoopThread) -> list[Run]:
    """One alarm for each behaviour and set-up, its line without a roster."""
    jobs = [Job(_scenario(name), setup, _limits(name, url)) for name in names for setup in SETUPS]
    with tempfile.TemporaryDirectory() as folder:
        evaluation = Evaluation(Path(folder), jobs, PLANT, AT_ONCE)
        loop.run(evaluation.work(lambda: None))
    return evaluation.runs


def _scenario(name: str) -> Scenario:
    message = message_of(name.partition("/")[2]) or TOUCH_SCREEN.message
    return Scenario(replace(TOUCH_SCREEN, message=message), "roster", "zh")


def _limits(name: str, url: str) -> AgentSettings:
    return AgentSettings(
        _env_file=None, llm_model=name, openai_base_url=url, agent_deadline_seconds=DEADLINE_SECONDS
    )


def kind_of(run: Run) -> str:
    return str(run.job.limits.llm_model).partition("/")[0]


def by_kind(runs: list[Run]) -> list[list[str]]:
    """Right orders of all alarms, a kind of misbehaviour a row."""
    kinds = dict.fromkeys(map(kind_of, runs))
    return [_right(kind, [run for run in runs if kind_of(run) == kind]) for kind in kinds] + [
        _right("all", runs)
    ]


def _right(name: str, runs: list[Run]) -> list[str]:
    own = [[run.score.correct for run in runs if run.job.setup == setup] for setup in SETUPS]
    return [name, *(f"{sum(right)}/{len(right)}" for right in own)]


def grouped(run: Run) -> Run:
    """With the many types of exceptions taken for one way to end, and for one reason."""
    order = run.ending.partition(", then ")[0]
    known = ("right order", "wrong order", "no order", "recursion limit", "deadline")
    reason = run.handover_reason.partition(":")[0] if run.handover_reason else None
    return replace(run, ending=order if order in known else "an exception", handover_reason=reason)


def main() -> None:
    logging.basicConfig(handlers=[logging.NullHandler()])
    runs: list[Run] = []
    loop = LoopThread(AT_ONCE)
    try:
        with AnyEndpoint(fit(ALL)) as endpoint:
            for kind in dict.fromkeys(name.partition("/")[0] for name in ALL):
                names = [name for name in ALL if name.partition("/")[0] == kind]
                sys.stderr.write(f"{kind}: {len(names)} behaviours in {len(SETUPS)} set-ups\n")
                runs += measured(names, endpoint.url, loop)
    finally:
        loop.close()
    labels = [setup.label for setup in SETUPS]
    sys.stdout.write(markdown(["right orders", *labels], by_kind(runs)) + "\n\n")
    columns = [figures(setup, [grouped(run) for run in runs]) for setup in SETUPS]
    # Of the tokens these endpoints say what they like.
    found = [row for row in rows(columns) if not row[0].startswith("tokens")]
    sys.stdout.write(markdown(["", *labels], found) + "\n")


if __name__ == "__main__":
    main()
