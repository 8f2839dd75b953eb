"""Rejected alarms pushed onto the stream again: what could not be read then may be readable now."""

from typing import Any

from redis import Redis

from db.errors import RejectedAlarmClosed
from db.models.alarm import RejectedStatus, RejectReason
from db.queries import clock
from db.queries.alarms import rejected
from db.session import Database
from producers.events import AlarmEvent, UnreadableEvent
from producers.queue import FIELD, STREAM


class CannotRetry(Exception):
    """Raised when nothing good could come of what was kept, were it pushed again."""


def retry(database: Database, broker: Redis, rejected_id: int, by: str) -> str:
    """Push one again and mark it as retried; its new entry's id. Should we end between the two, it is pushed
    twice, which makes no second alarm.

    Raises CannotRetry, UnknownRejectedAlarm, RejectedAlarmClosed, and what the broker and the database raise.
    """
    with database.reading() as session:
        found = rejected.show_rejected(session, rejected_id)
    if found["status"] != RejectedStatus.OPEN:
        raise RejectedAlarmClosed(rejected_id, found["status"], found["closed_by"])
    event = event_in(rejected_id, found["reason"], found["raw"], found["raw_bytes"])
    entry_id: Any = broker.xadd(STREAM, {FIELD: event})
    with database.writing() as session:
        rejected.close(session, rejected_id, RejectedStatus.RETRIED, by, clock.now(session))
    return str(entry_id, "ascii")


def event_in(rejected_id: int, reason: str, raw: bytes, raw_bytes: int) -> bytes:
    """The event as it was sent; without its field, what alone reads as one. Raises CannotRetry."""
    if reason == RejectReason.NOT_A_TASK:
        raise CannotRetry(
            f"rejected alarm {rejected_id} lay on Celery's own list, so it was never sent as an alarm; if it "
            f"is one, `rejected show {rejected_id} --json` has its bytes"
        )
    if reason == RejectReason.ID_REUSED:
        raise CannotRetry(
            f"rejected alarm {rejected_id} has the source and event_id of an alarm that was accepted with "
            "other content, so it would only be rejected again; if it is another alarm, send it under an "
            f"event_id of its own; `rejected show {rejected_id}` has it"
        )
    if len(raw) < raw_bytes:
        raise CannotRetry(
            f"of rejected alarm {rejected_id} only the first {len(raw)} of {raw_bytes} bytes are kept; its "
            "sender has to send it again"
        )
    if reason != RejectReason.NO_EVENT_FIELD:
        return raw
    values = [value for _, _, value in (line.partition(b"=") for line in raw.split(b"\n"))]
    events = [value for value in values if _is_event(value)]
    if len(events) != 1:
        raise CannotRetry(
            f"rejected alarm {rejected_id} has no field {FIELD!r}, and {len(events) or 'none'} of its other "
            "fields reads as an event; its sender has to send it again"
        )
    return events[0]


def _is_event(value: bytes) -> bool:
    try:
        AlarmEvent.parse(value)
    except UnreadableEvent:
        return False
    return True
