"""`alarm-worker eval`: the scenarios through each set-up on the configured model, and what came of it."""

import json
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from db.settings import PlantSettings, settings_or_exit
from db.terminal import MISUSED, fail, print_json, terminal
from worker.settings import AgentSettings

STOPPED = 130
"""Exit code after Ctrl-C, as a shell has it."""


def run(runs: int, at_once: int, keys: Sequence[str], as_json: bool, out: Path | None) -> int:
    """Its exit code. After Ctrl-C what has been measured until then is still shown."""
    limits, plant = settings_or_exit(AgentSettings), settings_or_exit(PlantSettings)
    if limits.llm_model is None:
        fail("LLM_MODEL is not set: it names the model to evaluate, OPENAI_BASE_URL its endpoint", MISUSED)
    if out is not None:
        _try_to_write(out)
    # A plain set-up fails all the time, and each handover is logged: here they are counted.
    logging.basicConfig(handlers=[logging.NullHandler()])
    report = _measured(limits, plant, runs, at_once, keys)
    if out is not None:
        out.write_text(json.dumps(report, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    if as_json:
        print_json(report)
    else:
        _show(report, out)
    return 0 if report["alarms_handled"] == report["alarms_planned"] else STOPPED


def _try_to_write(out: Path) -> None:
    """Now, rather than after all the model's answers have been paid for."""
    try:
        out.open("a", encoding="utf-8").close()
    except OSError as error:
        fail(f"cannot write {out.resolve()}: {error.strerror}", MISUSED)


def _measured(
    limits: AgentSettings, plant: PlantSettings, runs: int, at_once: int, keys: Sequence[str]
) -> dict[str, Any]:
    """What is reported: figures for each set-up, and each alarm's end."""
    from worker.eval.run import Evaluation, Job
    from worker.eval.scenarios import SCENARIOS
    from worker.eval.setups import SETUPS
    from worker.eval.table import figures
    from worker.process.loop import LoopThread

    setups = [setup for setup in SETUPS if not keys or setup.key in keys]
    jobs = [Job(scenario, setup, limits) for _ in range(runs) for scenario in SCENARIOS for setup in setups]
    loop = LoopThread(at_once)
    with tempfile.TemporaryDirectory(prefix="andon-eval-", ignore_cleanup_errors=True) as folder:
        evaluation = Evaluation(Path(folder), jobs, plant, at_once)
        try:
            with _progress(len(jobs)) as tick:
                loop.run(evaluation.work(tick))
        except KeyboardInterrupt:
            if not evaluation.runs:
                raise
        finally:
            ended = list(evaluation.runs)  # a run that is cancelled now would end as if it had failed
            loop.close()
    return {
        "model": limits.llm_model,
        "scenarios": len(SCENARIOS),
        "runs": runs,
        "alarms_planned": len(jobs),
        "alarms_handled": len(ended),
        "max_model_calls": limits.agent_max_model_calls,
        "deadline_seconds": limits.agent_deadline_seconds,
        "setups": [figures(setup, ended) for setup in setups],
        "results": [run.row() for run in ended],
    }


@contextmanager
def _progress(jobs: int) -> Iterator[Callable[[], None]]:
    """On a terminal's error stream, so that the output stays what was asked for."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    shown = sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), disable=not shown, transient=True) as progress:
        bar = progress.add_task("alarms handled", total=jobs)
        yield lambda: progress.advance(bar)


def _show(report: dict[str, Any], out: Path | None) -> None:
    from worker.eval.table import rich_table

    console = terminal()
    console.print(f"{report['model']}: {report['scenarios']} scenarios, {report['runs']} × in each set-up\n")
    console.print(rich_table(report["setups"]))
    planned, handled = report["alarms_planned"], report["alarms_handled"]
    if handled < planned:
        console.print(f"stopped before the end: {handled} of {planned} alarms were handled")
    if out is not None:
        console.print(f"each alarm's end is in {out.resolve()}", soft_wrap=True)
