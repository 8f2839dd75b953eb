"""Step 3: whether a spare part is in stock, and where."""

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from langchain.tools import ToolRuntime, tool
from rapidfuzz import fuzz, utils
from sqlalchemy.orm import Session

from db.codes import comparable
from db.models.order import StepName
from db.models.plant import SparePart
from db.queries import plant
from tools.catalogue import listed, text
from tools.context import AlarmContext
from tools.ledger import MAX_MODEL_PARTS
from tools.look_up import Search, look_up
from tools.result import PartFacts, ToolResult

Stocked = SparePart | plant.Part

NEAR_SCORE = 80.0
"""Least likeness (0 to 100) of a near name."""
MAX_OTHERS = 5
"""So many parts of the same name are named, then it only says that there are more."""
MIN_NEAR = 3
"""A shorter name is part of too many others to be near one of them."""
_key = functools.lru_cache(maxsize=500_000)(comparable)
"""A store's names are compared anew at each look-up; of one with more names than this, none would be kept."""
_FIGURE = re.compile(r"\d+(?:\.\d+)?")


@tool(response_format="content_and_artifact")
async def query_spare_parts(runtime: ToolRuntime[AlarmContext], part: str) -> tuple[str, ToolResult]:
    """Ask the spare parts store for one part: quantity, unit, location, minimum stock.

    Args:
        part: the part's name or number, as the manual lists it. One part a call.
    """
    context, ledger = runtime.context, runtime.context.ledger
    language, part = context.language, part.strip()
    if not part:
        result = ToolResult.invalid(text(language, "part.blank"), text(language, "part.blank_next"))
    elif not context.run.by_runbook and not ledger.may_ask_part(part):
        result = ToolResult.invalid(
            text(language, "part.limit", limit=MAX_MODEL_PARTS, part=part),
            text(language, "part.next_missing"),
        )
    else:
        question = ledger.question(StepName.QUERY_SPARE_PARTS, part)
        wanted = question.subject  # as the manual has it, if it has; an order's words are not a model's
        result = await look_up(context, question, lambda session: answer(context, session, wanted))
    return result.to_text(), result


def answer(context: AlarmContext, session: Session, part: str) -> ToolResult | Search[list[plant.Part]]:
    """At once where a part is asked for as the store writes it; else the name is compared with all others."""
    if exact := plant.parts_called(session, part):
        return _result(context, part, match(part, exact))
    return Search(plant.parts, lambda store: _result(context, part, match(part, store)))


def _result(context: AlarmContext, part: str, facts: PartFacts | None) -> ToolResult:
    language = context.language
    if facts is None:
        return ToolResult.not_found(
            text(language, "part.not_found", part=part), text(language, "part.next_missing")
        )
    words = facts.model_dump(include={"name", "number", "quantity", "unit", "location"})
    message = text(language, "part.found", **words)
    if facts.others:
        message += text(language, "part.others", part=facts.matched_as, others=listed(language, facts.others))
    return ToolResult.success(message, text(language, "part.next"), facts)


def match(wanted: str, parts: Iterable[Stocked]) -> PartFacts | None:
    """The part of that number, else of that name, else of that alias; else the one of a near name, unless
    two are equally near. Of several that are called just so it is the first, and the others are named."""
    parts = list(parts)
    key = comparable(wanted)
    numbers = [(part.number, part) for part in parts]
    names = [(part.name, part) for part in parts]
    aliases = [(name, part) for part in parts for name in part.aliases]
    for called in (numbers, names, aliases):
        exact = [(name, part) for name, part in called if _key(name) == key]
        if exact:
            name, first = exact[0]
            others = sorted({part.number for _name, part in exact} - {first.number})
            if len(others) > MAX_OTHERS:
                others[MAX_OTHERS:] = ["…"]
            return _facts(name, first, score=100.0, others=others)
    words = _words(wanted)
    near = [
        (_likeness(key, words, name), name, part)
        for name, part in names + aliases
        if len(key) >= MIN_NEAR and _letters_in(key, _key(name))
    ]
    best = max((score for score, _name, _part in near), default=0.0)
    nearest = [(name, part) for score, name, part in near if score == best >= NEAR_SCORE]
    if not nearest or len({part.number for _name, part in nearest}) > 1:
        return None
    return _facts(*nearest[0], score=round(best, 1))


def _letters_in(one: str, other: str) -> bool:
    """Whether all letters of one of them are in the other, as stripping finds out in no time."""
    return not one.strip(other) or not other.strip(one)


def _likeness(wanted: str, wanted_words: str, name: str) -> float:
    """0 to 100. A near name says more or less than the wanted one (a screen's driver, a screen), not
    something else in its place: the output module is not the input module, M8 is not M6. Each figure of
    the wanted name (a thread, a voltage) must stand in it."""
    key = _key(name)
    if len(key) < MIN_NEAR or not set(_FIGURE.findall(wanted)) <= set(_FIGURE.findall(key)):
        return 0.0
    more, less = Counter(wanted), Counter(key)
    if more - less and less - more:
        return 0.0
    return max(fuzz.WRatio(wanted, key), 0.95 * fuzz.token_sort_ratio(wanted_words, _words(name)))


def _words(name: str) -> str:
    return utils.default_process(unicodedata.normalize("NFKC", name))


def _facts(matched_as: str, part: Stocked, score: float, others: Sequence[str] = ()) -> PartFacts:
    return PartFacts(
        number=part.number,
        name=part.name,
        matched_as=matched_as,
        score=score,
        quantity=part.quantity,
        unit=part.unit,
        location=part.location,
        minimum=part.minimum,
        below_minimum=part.quantity < part.minimum,
        others=list(others),
    )
