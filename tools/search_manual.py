"""Step 1: what the equipment manual says of the alarm's fault code."""

import functools
import re
import unicodedata

from langchain.tools import ToolRuntime, tool
from rapidfuzz import fuzz, process, utils
from sqlalchemy.orm import Session

from db.codes import comparable
from db.models.order import StepName
from db.models.plant import ManualEntry
from db.queries import plant
from tools.catalogue import listed, text
from tools.context import AlarmContext
from tools.look_up import Search, look_up
from tools.result import ManualFacts, ManualItem, ToolResult

SYMPTOM_SCORE = 80.0
"""Least likeness (0 to 100) of a phrase of an alarm's message and a phrase of an entry."""
MAX_SIMILAR = 3
MAX_PHRASES = 20
WHOLE_WEIGHT, PART_WEIGHT = 6, 12
"""Letters, a Chinese character counting three: what is shorter is like too many phrases, compared as a
whole, and is a part of even more."""
_WAYS = ((fuzz.token_sort_ratio, WHOLE_WEIGHT, 1.0), (fuzz.partial_ratio, PART_WEIGHT, 0.95))
"""How phrases are alike: the same words, or one within the other, which is worth a little less."""

_BETWEEN_PHRASES = re.compile(r"[;；:：,，、。!！?？|\r\n]+|\.\s")


@tool(response_format="content_and_artifact")
async def search_manual(
    runtime: ToolRuntime[AlarmContext], fault_code: str = "", symptom: str = ""
) -> tuple[str, ToolResult]:
    """Search the equipment manual for this alarm's fault code: causes, safety notes, remedy steps, parts.

    It always asks about this alarm's own code; both arguments may be left out.
    """
    context = runtime.context
    question = context.ledger.question(StepName.SEARCH_MANUAL)
    result = await look_up(context, question, lambda session: answer(context, session))
    return result.to_text(), result


def answer(context: AlarmContext, session: Session) -> ToolResult | Search[list[ManualEntry]]:
    language, code = context.language, context.alarm.code_key
    entries, of_other_class = by_code(session, code, context.equipment_class)
    if len(entries) == 1 and not of_other_class:
        message = text(language, "manual.found", code=code, title=entries[0].title)
        return ToolResult.success(
            message, text(language, "manual.next"), _facts(entries, "code", ambiguous=False)
        )
    if entries:
        classes = listed(language, [entry.equipment_class for entry in entries])
        message = text(language, "manual.several", code=code, count=len(entries), classes=classes)
        facts = _facts(entries, "code", ambiguous=True)
        return ToolResult.success(message, text(language, "manual.next_ambiguous"), facts)
    if not _phrases(context.alarm.message):
        return _by_symptom(context, [])
    return Search(plant.manual_all, lambda everything: _by_symptom(context, everything))


def _by_symptom(context: AlarmContext, everything: list[ManualEntry]) -> ToolResult:
    language, code = context.language, context.alarm.code_key
    similar = by_symptom(everything, context.alarm.message, context.equipment_class)
    if similar:
        message = text(
            language,
            "manual.by_symptom",
            code=code,
            titles=listed(language, [entry.title for entry in similar]),
        )
        facts = _facts(similar, "symptom", ambiguous=True)
        return ToolResult.success(message, text(language, "manual.next_ambiguous"), facts)
    subject = context.ledger.parts_fallback
    return ToolResult.not_found(
        text(language, "manual.not_found", code=_code_and_class(context)),
        text(language, "manual.next_missing", subject=subject),
    )


def by_code(session: Session, code_key: str, equipment_class: str) -> tuple[list[ManualEntry], bool]:
    """The entries for a code in that class, and whether they are only another class's.

    With the class unknown, or one that the manual never heard of, every class's entry is a candidate;
    a class that the manual does know, but not with this code, has none.
    """
    entries = plant.manual_by_code(session, code_key)
    if not equipment_class or not entries:
        return entries, False
    wanted = comparable(equipment_class)
    own = [entry for entry in entries if comparable(entry.equipment_class) == wanted]
    if own:
        return own, False
    known = {comparable(name) for name in plant.manual_classes(session)}
    return ([], False) if wanted in known else (entries, True)


def by_symptom(everything: list[ManualEntry], message: str, equipment_class: str) -> list[ManualEntry]:
    """The entries of which a phrase, of the title or the symptoms, reads like one of the alarm's message,
    best first. Whole texts are not compared: two long ones always share a few words."""
    wanted = list(dict.fromkeys(_phrases(message)))[:MAX_PHRASES]
    key = comparable(equipment_class)
    own = [entry for entry in everything if comparable(entry.equipment_class) == key]
    entries = own or everything  # a class that the manual does not know rules nothing out
    phrases = [(phrase, n) for n, entry in enumerate(entries) for phrase in _entry_phrases(entry)]
    best: dict[int, float] = {}
    for scorer, least, worth in _WAYS:
        pool = {index: words for index, (words, _n) in enumerate(phrases) if _weight(words) >= least}
        for phrase in wanted:
            if _weight(phrase) < least:
                continue
            cutoff = SYMPTOM_SCORE / worth
            for _words, score, index in process.extract(
                phrase, pool, scorer=scorer, score_cutoff=cutoff, limit=None
            ):
                n = phrases[index][1]
                best[n] = max(score * worth, best.get(n, 0.0))
    return [entries[n] for n in sorted(best, key=lambda n: (-best[n], n))[:MAX_SIMILAR]]


def _entry_phrases(entry: ManualEntry) -> list[str]:
    return _phrases(f"{entry.title}\n{entry.symptoms}")


@functools.lru_cache(maxsize=50_000)
def _phrases(written: str) -> list[str]:
    parts = _BETWEEN_PHRASES.split(unicodedata.normalize("NFKC", written))
    return [phrase for phrase in map(utils.default_process, parts) if _weight(phrase) >= WHOLE_WEIGHT]


def _weight(phrase: str) -> int:
    return sum(3 if letter > "\u2e80" else 1 for letter in phrase)


def _code_and_class(context: AlarmContext) -> str:
    code = context.alarm.code_key
    return f"{code} ({context.equipment_class})" if context.equipment_class else code


def _facts(entries: list[ManualEntry], matched_by: str, ambiguous: bool) -> ManualFacts:
    items = [ManualItem.model_validate(entry, from_attributes=True) for entry in entries]
    return ManualFacts(entries=items, matched_by=matched_by, ambiguous=ambiguous)
