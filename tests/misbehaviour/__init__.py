"""Ways in which a model or its endpoint misbehaves, by kind; each must end in a perfect model's order."""

from tests.helpers.endpoint import Behaviour, good
from tests.misbehaviour import (
    bad_calls,
    falsehood,
    faults,
    injection,
    loops,
    small_models,
    text_calls,
    wrong_end,
)

KINDS: dict[str, dict[str, Behaviour]] = {
    "loops": loops.BEHAVIOURS,
    "bad calls": bad_calls.BEHAVIOURS,
    "text calls": text_calls.BEHAVIOURS,
    "wrong end": wrong_end.BEHAVIOURS,
    "falsehood": falsehood.BEHAVIOURS,
    "small models": small_models.BEHAVIOURS,
    "endpoint": faults.BEHAVIOURS,
    "slow endpoint": faults.SLOW,
    "injection": injection.BEHAVIOURS,
}

UNAIDED = frozenset(
    f"{kind}/{name}"
    for kind, names in {
        "loops": loops.UNAIDED,
        "bad calls": bad_calls.UNAIDED,
        "text calls": text_calls.UNAIDED,
        "wrong end": wrong_end.UNAIDED,
        "falsehood": falsehood.UNAIDED,
        "small models": small_models.UNAIDED,
        "endpoint": faults.UNAIDED,
        "injection": injection.UNAIDED,
    }.items()
    for name in names
)
"""What a model is let carry through to the end; the others may be handed over."""

ALL: dict[str, Behaviour] = {"good": good} | {
    f"{kind}/{name}": behaviour for kind, members in KINDS.items() for name, behaviour in members.items()
}
