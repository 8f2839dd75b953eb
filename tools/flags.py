"""What a model's diagnosis and actions name that is not this alarm's: an order, a line or a code."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from db.codes import comparable
from tools.context import AlarmContext
from tools.ledger import LOOK_UPS
from tools.mentions import Mention, Passage, codes, lines, orders
from tools.result import ManualFacts, PartFacts, ShiftFacts

MAX_FLAGS, MAX_TEXT = 20, 100

Flag = dict[str, str]
"""`kind` (order, line, code), `text` as it is written, `where` (diagnosis, actions[n], counted from 0)."""


@dataclass(frozen=True)
class Known:
    """The plant's line names and the manual's codes, as they are compared; what could not be read is not
    in it."""

    lines: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, line_names: Iterable[str], code_keys: Iterable[str]) -> "Known":
        return cls(frozenset(map(comparable, line_names)), frozenset(code_keys))


@dataclass(frozen=True)
class Own:
    """What an order may name: the alarm's code and line, what stands on the line, and whatever the `words`
    name, which are the plant's own about it."""

    code: str  # normalised
    line: str
    on_it: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, context: AlarmContext) -> "Own":
        """The alarm's message is none of its words: what it tells a model to write is flagged."""
        alarm = context.alarm
        on_it = (alarm.equipment, context.equipment_class)
        return cls(alarm.code_key, alarm.line_name, on_it, tuple(_answered(context)))


def flags(diagnosis: str, actions: Sequence[str], own: Own, known: Known) -> list[Flag]:
    """One flag for each thing named in each place; at most 20."""
    words = (own.line, *own.on_it, *own.words)
    allowed = {(mention.kind, mention.key) for text in words for mention in _mentions(text, own, known)}
    texts = [("diagnosis", diagnosis), *((f"actions[{n}]", action) for n, action in enumerate(actions))]
    found: dict[tuple[str, str, str], Flag] = {}
    for where, text in texts:
        for mention in _mentions(text, own, known):
            if (mention.kind, mention.key) not in allowed:
                flag = {"kind": mention.kind, "text": mention.text[:MAX_TEXT], "where": where}
                found.setdefault((where, mention.kind, mention.key), flag)
        if len(found) >= MAX_FLAGS:
            break
    return list(found.values())[:MAX_FLAGS]


def _mentions(text: str, own: Own, known: Known) -> Iterator[Mention]:
    passage = Passage(text)
    yield from orders(passage)
    yield from lines(passage, (own.line, *own.on_it), known.lines)
    yield from codes(passage, own.code, known.codes)


def _answered(context: AlarmContext) -> Iterable[str]:
    """The words of what the sources said: the manual's entries, the parts, who is on duty."""
    ledger = context.ledger
    for question in (question for step in LOOK_UPS for question in ledger.asked_in(step)):
        facts = question.result.facts if question.result is not None else None
        if isinstance(facts, ManualFacts):
            for entry in facts.entries:
                yield from (entry.title, entry.equipment_class)
                yield from (*entry.causes, *entry.safety, *entry.steps, *entry.parts)
        elif isinstance(facts, PartFacts):
            yield from (facts.number, facts.name, facts.matched_as, facts.location, *facts.others)
        elif isinstance(facts, ShiftFacts):
            for duty in (*facts.on_duty, *facts.on_duty_now):
                yield from (duty.person, duty.shift)
