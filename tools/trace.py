"""The account of one attempt as it goes: what was said, called and answered; bounded, redacted at once."""

import json
import time
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from tools.redaction import EDGE, Redactor

MAX_BYTES = 64 * 1024
"""Of the whole account as it is stored, JSON in ASCII."""
MOST = MAX_BYTES - 100
"""With room for the brackets, and for a note on what had to leave."""
MAX_TEXT, MAX_ARGUMENTS, MAX_REST = 8_000, 2_000, 200
"""Bytes of one text, of one call's arguments, and of a text that had to make room for later ones."""
MAX_WRITTEN = 8
"""Calls of one turn as they were written."""
MAX_READ = 10_000
"""Characters of a text that are looked at at all."""

Entry = dict[str, Any]


class Trace:
    """Entries with a `kind` (alarm, model, failure, tool, reminder, handover, end) and `at`, in seconds.

    Holds never more than MAX_BYTES: when they are spent, the oldest tool results are cut first, then the
    oldest of what was said, then the oldest entries leave. A text that was cut is followed by `cut`, the
    number of its characters that are missing.
    """

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        self._began = time.monotonic()
        self._entries: list[Entry] = []
        self._sizes: list[int] = []
        self._size = 0
        self._left_out = 0
        self._turns = 0

    def alarm(self, prompt: str) -> None:
        self._add("alarm", prompt)

    def model(self, by: str, call: int | None, said: AIMessage, meant: AIMessage | None = None) -> None:
        """A turn of the model, its `call`th request, or of the runbook. Where `meant` is not what was
        said, the calls were written badly: both are kept."""
        meant = meant or said
        self._turns += 1
        entry: Entry = {"turn": self._turns, "by": by, "call": call}
        entry["calls"] = [self._call(call["name"], call["args"]) for call in meant.tool_calls]
        if said.usage_metadata is not None:
            entry |= {name: said.usage_metadata[name] for name in ("input_tokens", "output_tokens")}
        written = [self._call(call["name"] or "", call["args"]) for call in said.invalid_tool_calls]
        as_said = [self._call(call["name"], call["args"]) for call in said.tool_calls]
        if written or as_said != entry["calls"]:
            entry["repaired"] = True
            entry["written"] = (as_said + written)[:MAX_WRITTEN] or None  # none: they stand in the text
        self._add("model", said.text, **entry)

    def failure(self, call: int, error: str) -> None:
        """A request without an answer; `error` names the kind, since an endpoint's words may hold the key."""
        self._add("failure", call=call, error=error)

    def tool(self, name: str, arguments: Mapping[str, Any], status: str, by: str, text: str) -> None:
        """An answer, as the model sees it, and `by` whom it is: source, ledger, refusal, settlement."""
        self._add("tool", text, **self._call(name, arguments), status=status, by=by)

    def reminder(self, text: str) -> None:
        self._add("reminder", text)

    def handover(self, reason: str, model_calls: int) -> None:
        self._add("handover", reason=reason, model_calls=model_calls)

    def end(self, outcome: str) -> None:
        self._add("end", outcome=outcome)

    def entries(self) -> list[Entry]:
        """The account so far; what had to leave it stands as one entry of kind `left_out`."""
        if not self._left_out:
            return list(self._entries)
        return [{"kind": "left_out", "entries": self._left_out}, *self._entries]

    def _call(self, name: str, arguments: Any) -> Entry:
        """Arguments as an object where they are one and not too long, else as text."""
        written = arguments if isinstance(arguments, str) else _json(arguments)
        kept: Any = _within(self._redactor.text(written, MAX_READ), MAX_ARGUMENTS)
        if isinstance(arguments, Mapping) and len(written) <= MAX_ARGUMENTS:
            kept = self._redactor.value(dict(arguments), MAX_READ)
        return {"name": self._redactor.text(name, 100), "arguments": kept}

    def _add(self, kind: str, text: str | None = None, **more: Any) -> None:
        entry: Entry = {"kind": kind, "at": round(time.monotonic() - self._began, 2)}
        if text is not None:
            entry["text"] = self._redactor.text(text, MAX_READ)
            _cut(entry, MAX_TEXT, missing=len(text) - MAX_READ + EDGE if len(text) > MAX_READ else 0)
        entry |= {name: value for name, value in more.items() if value is not None}
        self._entries.append(entry)
        self._sizes.append(_size(entry))
        self._size += self._sizes[-1]
        self._make_room()

    def _make_room(self) -> None:
        for kinds in ({"tool"}, {"alarm", "model", "reminder"}):
            for index, entry in enumerate(self._entries[:-1]):
                if self._size <= MOST:
                    return
                if entry["kind"] in kinds and len(entry["text"]) > MAX_REST:
                    _cut(entry, MAX_REST)
                    self._size -= self._sizes[index] - _size(entry)
                    self._sizes[index] = _size(entry)
        while self._size > MOST and len(self._entries) > 1:
            self._size -= self._sizes.pop(0)
            del self._entries[0]
            self._left_out += 1


def _cut(entry: Entry, most: int, missing: int = 0) -> None:
    text = entry.get("text", "")
    kept = _within(text, most)
    missing += len(text) - len(kept)
    if missing:
        entry |= {"text": kept, "cut": entry.get("cut", 0) + missing}


def _within(text: str, most: int) -> str:
    """As much of the text as fits into so many bytes of JSON."""
    kept = text[:most]
    while (size := len(json.dumps(kept))) > most + 2:
        kept = kept[: max(len(kept) * most // size, 0)]
    return kept


def _size(entry: Entry) -> int:
    return len(json.dumps(entry)) + 2


def _json(value: Any) -> str:
    """What a model sends may be nested deeper than JSON is written."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        return "…"
