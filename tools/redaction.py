"""What may not stand in an account of a run: the endpoint's key, and personal data as the plant says."""

import re
from collections.abc import Iterable
from typing import Any

REDACTED = "***"
SHORT = 8
"""A key of fewer characters ("EMPTY", "ollama") is taken out where it stands alone, not out of words."""
EDGE = 200
"""Characters before a cut that are dropped as well: they may be the half of what a pattern would find."""
DEEPEST = 20


class Redactor:
    """Takes out what the patterns find (regular expressions), and each of the secrets, whatever they say."""

    def __init__(self, patterns: Iterable[str] = (), secrets: Iterable[str] = ()) -> None:
        longest_first = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self._secrets = [_exactly(secret) for secret in longest_first]
        self._patterns = [re.compile(pattern) for pattern in patterns]

    def text(self, written: str, most: int) -> str:
        """At most so many characters of the text are looked at with the patterns, and left."""
        for secret in self._secrets:
            written = secret.sub(REDACTED, written)
        is_cut, written = len(written) > most, written[:most]
        for pattern in self._patterns:
            written = pattern.sub(REDACTED, written)
        return written[:-EDGE] if is_cut else written

    def value(self, value: Any, most: int, depth: int = 0) -> Any:
        """The same for each text in a JSON value, names included; what is nested too deep is left out."""
        if isinstance(value, str):
            return self.text(value, most)
        if isinstance(value, dict | list) and depth == DEEPEST:
            return REDACTED
        if isinstance(value, dict):
            return {
                self.text(str(name), most): self.value(inner, most, depth + 1)
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self.value(inner, most, depth + 1) for inner in value]
        return value


def _exactly(secret: str) -> re.Pattern[str]:
    found = re.escape(secret)
    return re.compile(found if len(secret) >= SHORT else rf"(?<!\w){found}(?!\w)")
