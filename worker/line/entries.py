"""What clients pushed, as it stands in the stream, read as alarms or set aside with the reason."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from db.models.alarm import RejectReason
from db.queries.alarms.intake import NewAlarm, Unreadable
from producers.events import AlarmEvent, UnreadableEvent
from producers.queue import FIELD

PROBE = "probe"
"""The field that `alarm-worker probe` puts its token into."""
NOT_A_TASK = "not_a_task"
"""That which a worker puts what it found on Celery's own list into, when it is none of our tasks."""

_EVENT, _PROBE, _NOT_A_TASK = FIELD.encode(), PROBE.encode(), NOT_A_TASK.encode()
_PUSH_IT = f"push it as XADD <stream> * {FIELD} '<json>'"
_SAID_NO_EVENT = f"the entry has no field {FIELD!r}; {_PUSH_IT}"
_SAID_NOT_A_TASK = f"lay on Celery's own list and is none of our tasks; if it is an alarm, {_PUSH_IT}"
_SAID_NO_TOKEN = f"the field {PROBE!r} wants 32 hexadecimal digits, as `alarm-worker probe` makes them"

Readable = tuple[str, bytes, NewAlarm]
"""An entry's id, the event as it was pushed, and the alarm that it is."""


class Entry(NamedTuple):
    """One stream entry. Its fields stand in a list, for a client may repeat a name; None: it was deleted."""

    entry_id: str
    fields: list[tuple[bytes, bytes]] | None


def entries_of(reply: Sequence[Any]) -> list[Entry]:
    """The entries in the broker's own form: [[id, [field, value, field, value, …]], …]."""
    entries = []
    for entry_id, words in reply:
        fields = None if words is None else list(zip(words[::2], words[1::2], strict=True))
        entries.append(Entry(entry_id.decode(), fields))
    return entries


def sort_out(entries: Sequence[Entry]) -> tuple[list[Readable], list[Unreadable]]:
    """Each field `event` of an entry is an event. Fields of names that are not known here are ignored, but an
    entry with no other ones is rejected."""
    readable: list[Readable] = []
    unreadable: list[Unreadable] = []
    for entry_id, fields in entries:
        if fields is None:
            continue
        if not any(name in (_EVENT, _PROBE, _NOT_A_TASK) for name, _ in fields):
            raw = b"\n".join(name + b"=" + value for name, value in fields)
            unreadable.append(Unreadable(entry_id, raw, RejectReason.NO_EVENT_FIELD, _SAID_NO_EVENT))
        for name, raw in fields:
            if name == _NOT_A_TASK:
                unreadable.append(Unreadable(entry_id, raw, RejectReason.NOT_A_TASK, _SAID_NOT_A_TASK))
            elif name == _PROBE and not is_token(raw):
                unreadable.append(Unreadable(entry_id, raw, RejectReason.INVALID, _SAID_NO_TOKEN))
            elif name == _EVENT:
                try:
                    readable.append((entry_id, raw, _alarm(AlarmEvent.parse(raw))))
                except UnreadableEvent as error:
                    unreadable.append(Unreadable(entry_id, raw, RejectReason(error.code), error.detail))
    return readable, unreadable


def tokens_of(entries: Sequence[Entry]) -> list[str]:
    """The tokens of the probes among the entries."""
    fields = [field for entry in entries for field in entry.fields or []]
    return [value.decode() for name, value in fields if name == _PROBE and is_token(value)]


def is_token(value: bytes) -> bool:
    return re.fullmatch(b"[0-9a-f]{32}", value) is not None


def _alarm(event: AlarmEvent) -> NewAlarm:
    return NewAlarm(
        source=event.source,
        event_id=event.event_id,
        content_digest=event.digest(),
        line_name=event.line_name,
        equipment=event.equipment,
        equipment_class=event.equipment_class,
        fault_code=event.fault_code,
        severity=event.severity,
        state=event.state,
        message=event.message,
        occurred_at=event.occurred_at,
        attributes=event.attributes,
        historical=event.historical,
    )
