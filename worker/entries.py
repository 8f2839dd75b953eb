"""What clients pushed, as it stands in the stream, read as alarms or set aside with the reason."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from db.models.alarm import RejectReason
from db.queries.intake import NewAlarm, Unreadable
from producers.events import AlarmEvent, UnreadableEvent
from producers.queue import FIELD

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
    """Each field `event` of an entry is an event, other fields are ignored; without one it is rejected."""
    readable: list[Readable] = []
    unreadable: list[Unreadable] = []
    for entry_id, fields in entries:
        if fields is None:
            continue
        events = [value for name, value in fields if name == FIELD.encode()]
        if not events:
            raw = b"\n".join(name + b"=" + value for name, value in fields)
            detail = f"the entry has no field {FIELD!r}; push it as XADD <stream> * {FIELD} '<json>'"
            unreadable.append(Unreadable(entry_id, raw, RejectReason.NO_EVENT_FIELD, detail))
        for raw in events:
            try:
                readable.append((entry_id, raw, _alarm(AlarmEvent.parse(raw))))
            except UnreadableEvent as error:
                unreadable.append(Unreadable(entry_id, raw, RejectReason(error.code), error.detail))
    return readable, unreadable


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
    )
