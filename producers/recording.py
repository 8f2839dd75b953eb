"""Recorded events: a file of JSON, one event a line, read as a whole before any of it is sent."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from producers.checks import shown
from producers.events import MAX_EVENT_BYTES, AlarmEvent, ProducerError, UnreadableEvent

_MAX_COMPLAINTS = 20


class BadRecording(ProducerError):
    """Raised when a recording cannot be read; its text has a line for each bad line of the file."""


def read(file: str) -> tuple[str, list[AlarmEvent]]:
    """The full name of a file ('-' is stdin) and its events; raises BadRecording if a single one is bad."""
    try:
        if file == "-":
            with open(0, "rb", closefd=False) as lines:
                return "stdin", _events("stdin", lines)
        path = Path(file).resolve()
        with path.open("rb") as lines:
            return shown(str(path), 4096), _events(str(path), lines)
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError
        why = getattr(error, "strerror", None) or "cannot be opened"
        name = "stdin" if file == "-" else shown(str(Path(file).absolute()), 4096)
        raise BadRecording(f"{name}: {why}") from None


def _events(name: str, lines: BinaryIO) -> list[AlarmEvent]:
    events: list[AlarmEvent] = []
    complaints: list[str] = []
    for number, line in _numbered(lines):
        try:
            events.append(AlarmEvent.parse(line))
        except UnreadableEvent as error:
            complaints.append(f"{name}:{number}: {error.detail}")
        if len(complaints) == _MAX_COMPLAINTS:
            complaints.append("… and perhaps more; the rest was not read")
            break
    if complaints:
        found = f"{name} has lines that are no events; nothing was sent"
        raise BadRecording("\n".join([found, *complaints]))
    return events


def _numbered(lines: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; of one that is too long only as much as shows it."""
    most = MAX_EVENT_BYTES + 2  # with its end, \r\n
    number = 0
    while line := lines.readline(most):
        number += 1
        rest = line
        while len(rest) == most and not rest.endswith(b"\n"):
            rest = lines.readline(most)
        if rest is not line:
            yield number, line
        elif text := line.strip(b" \t\r\n"):
            yield number, text
