"""What the runs came to, one column a set-up: as figures, as a table for a terminal, and as Markdown."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

from rich.table import Column, Table
from rich.text import Text

from db.views.cells import FAINT, empty_table
from worker.eval.run import Run
from worker.eval.setups import Setup

Figures = dict[str, Any]


def figures(setup: Setup, runs: Sequence[Run]) -> Figures:
    """All that is reported of one set-up; means are of one alarm."""
    own = [run for run in runs if run.job.setup == setup]
    return {
        "setup": setup.key,
        "label": setup.label,
        "alarms": len(own),
        "orders_correct": sum(run.score.correct for run in own),
        "steps_right": sum(run.score.steps_right for run in own),
        "steps": sum(run.score.steps for run in own),
        "requests": _spread(run.requests for run in own),
        "look_ups": _spread(run.look_ups for run in own),
        "suppressed": sum(run.suppressed for run in own),
        "repaired": sum(run.repaired for run in own),
        "input_tokens": _spread(run.input_tokens for run in own),
        "output_tokens": _spread(run.output_tokens for run in own),
        "seconds": _spread(run.seconds for run in own),
        "handed_over": sum(run.handover_reason is not None for run in own),
        "handovers": _counted(run.handover_reason for run in own if run.handover_reason is not None),
        "endings": _counted(run.ending for run in own),
    }


def _spread(values: Iterable[float]) -> dict[str, float]:
    found = list(values)
    return {"mean": round(fmean(found), 2), "most": max(found)} if found else {"mean": 0, "most": 0}


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(Counter(words).most_common())


_ROWS: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("orders correct", lambda f: f"{f['orders_correct']}/{f['alarms']}"),
    ("steps with the right status", lambda f: f"{f['steps_right']}/{f['steps']}"),
    ("model calls, mean (most)", lambda f: _mean(f["requests"])),
    ("look-ups, mean (most)", lambda f: _mean(f["look_ups"])),
    ("repeats suppressed", lambda f: f"{f['suppressed']:,}"),
    ("calls repaired", lambda f: f"{f['repaired']:,}"),
    ("handed over", lambda f: f"{f['handed_over']:,}"),
    ("tokens in, mean", lambda f: f"{f['input_tokens']['mean']:,.0f}"),
    ("tokens out, mean", lambda f: f"{f['output_tokens']['mean']:,.0f}"),
    ("seconds, mean (most)", lambda f: _mean(f["seconds"])),
)


def _mean(spread: dict[str, float]) -> str:
    return f"{spread['mean']:,.1f} ({round(spread['most'], 1):,g})"


def rows(columns: Sequence[Figures]) -> list[list[str]]:
    """The measures, then how the runs ended, then why they were handed over; a name and a cell a set-up."""
    found = [[name, *(cell(column) for column in columns)] for name, cell in _ROWS]
    for key, heading in (("endings", "ended"), ("handovers", "handed over")):
        total: Counter[str] = sum((Counter(column[key]) for column in columns), Counter())
        for word, _count in total.most_common():
            found.append([f"{heading}: {word}", *(f"{column[key].get(word, 0)}" for column in columns)])
    return found


def rich_table(columns: Sequence[Figures]) -> Table:
    heads = [
        Column("", overflow="fold", min_width=27),
        *(Column(f["label"], justify="right", width=11) for f in columns),
    ]
    table = empty_table(heads)
    for name, *cells in rows(columns):
        table.add_row(name, *(Text(cell, style=FAINT if cell == "0" else "") for cell in cells))
    return table


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table with its figures to the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))
