"""What can go wrong in this package; the type says what happens next."""

from collections.abc import Sequence
from datetime import datetime

from db.codes import FINGERPRINT_DIGITS


class DatabaseError(Exception):
    """The root of this package's errors."""


class SchemaError(DatabaseError):
    """Raised when the database's tables are not the ones that this version wants."""


class LeaseLost(DatabaseError):
    """Raised when an attempt wants to write but no longer holds its alarm."""

    def __init__(self, alarm_id: int, attempt: int) -> None:
        super().__init__(f"attempt {attempt} no longer holds alarm {alarm_id}")
        self.alarm_id = alarm_id
        self.attempt = attempt


class UnknownOrder(DatabaseError):
    """Raised when no work order has the given order id or event id."""

    def __init__(self, key: str, source: str | None = None) -> None:
        sent_by = "" if source is None else f" from source {source!r}"
        super().__init__(f"no work order has the order id or event id {key!r}{sent_by}")
        self.key = key
        self.source = source


class NoOrderYet(UnknownOrder):
    """Raised when the event is known, but no work order has come of it; `why` says whether one will."""

    def __init__(self, event_id: str, source: str, status: str, why: str) -> None:
        super().__init__(event_id, source)
        self.args = (f"event {event_id!r} from {source!r} is {status} and has no work order; {why}",)
        self.event_id = event_id
        self.status = status
        self.why = why


class AmbiguousEvent(DatabaseError):
    """Raised when several sources sent the given event id, each with an order of its own."""

    def __init__(self, event_id: str, sources: Sequence[str]) -> None:
        names = ", ".join(repr(source) for source in sources)
        super().__init__(f"event {event_id!r} came from several sources; name one with --source: {names}")
        self.event_id = event_id
        self.sources = tuple(sources)


class ForbiddenTransition(DatabaseError):
    """Raised when an order may not go from its status to the wanted one."""

    def __init__(self, order_id: str, from_status: str, to_status: str, allowed: Sequence[str]) -> None:
        onward = ", ".join(allowed) or "nothing, it has ended"
        super().__init__(f"{order_id} is {from_status} and cannot become {to_status}; it can become {onward}")
        self.order_id = order_id
        self.from_status = from_status
        self.to_status = to_status
        self.allowed = tuple(allowed)


class StatusConflict(DatabaseError):
    """Raised when somebody else moved an order between the reading of its status and the writing."""

    def __init__(self, order_id: str, read: str, wanted: str) -> None:
        super().__init__(
            f"{order_id} was {read} until somebody else moved it just now; "
            f"it was not made {wanted}: look at it again"
        )
        self.order_id = order_id
        self.read = read
        self.wanted = wanted


class UnknownFingerprint(DatabaseError):
    """Raised when no alarm that ever came has the given fingerprint, or one that begins so."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"no alarm has a fingerprint that begins with {key}; `work-orders show` says an order's"
        )
        self.key = key


class AmbiguousFingerprint(DatabaseError):
    """Raised when several fingerprints begin with the given digits."""

    def __init__(self, key: str, fingerprints: Sequence[str]) -> None:
        names = ", ".join(fingerprints)
        super().__init__(f"several fingerprints begin with {key}; give more digits of one: {names}")
        self.key = key
        self.fingerprints = tuple(fingerprints)


class AlreadyShelved(DatabaseError):
    """Raised when a fingerprint is to be shelved that is shelved; `until` is in the asker's time zone."""

    def __init__(
        self, fingerprint: str, until: datetime, by: str, now: datetime, ended_by: str | None = None
    ) -> None:
        when, is_over = until.isoformat(sep=" ", timespec="minutes"), ended_by is not None or until <= now
        was = "was shelved" if is_over else "is shelved already,"
        taken_off = "" if ended_by is None else f" and taken off the shelf by {ended_by!r}"
        then = "a running worker ends that within seconds; try again then"
        super().__init__(
            f"{fingerprint[:FINGERPRINT_DIGITS]} {was} until {when} by {by!r}{taken_off}; "
            f"{then if is_over else '`work-orders unshelve` ends that'}"
        )
        self.fingerprint = fingerprint
        self.until = until
        self.by = by


class NotShelved(DatabaseError):
    """Raised when the shelving of a fingerprint is to end that is not shelved, or not any more."""

    def __init__(self, fingerprint: str) -> None:
        shown = fingerprint[:FINGERPRINT_DIGITS]
        super().__init__(f"{shown} is not shelved; `work-orders shelved` lists what is")
        self.fingerprint = fingerprint


class FaultHeld(DatabaseError):
    """Raised when an ended order is to be taken up again, and another one has one of its faults by now."""

    def __init__(self, order_id: str, fault: str, holder: str | None, event_id: str, source: str) -> None:
        by = holder or f"event {event_id!r} from {source!r}, whose order is still to come"
        super().__init__(
            f"{order_id} cannot be taken up again: its fault ({fault}) came back since and is now with {by}"
        )
        self.order_id = order_id
        self.holder = holder
        self.event_id = event_id
        self.source = source


class UnknownFollowUp(DatabaseError):
    """Raised when no follow-up has the given id."""

    def __init__(self, follow_up_id: int) -> None:
        super().__init__(f"there is no follow-up {follow_up_id}")
        self.follow_up_id = follow_up_id


class FollowUpClosed(DatabaseError):
    """Raised when a follow-up that is no longer open is to be closed."""

    def __init__(self, follow_up_id: int, status: str) -> None:
        super().__init__(f"follow-up {follow_up_id} is not open; it is {status}")
        self.follow_up_id = follow_up_id
        self.status = status


class UnknownAlarm(DatabaseError):
    """Raised when no alarm has the given id."""

    def __init__(self, alarm_id: int) -> None:
        super().__init__(f"there is no alarm {alarm_id}; `alarm-worker poison list` shows the ids")
        self.alarm_id = alarm_id


class NotPoison(DatabaseError):
    """Raised when an alarm is to be put back that is not poison, or that is tried at this moment."""

    def __init__(self, alarm_id: int, why: str) -> None:
        super().__init__(f"alarm {alarm_id} {why}")
        self.alarm_id = alarm_id


class UnknownRejectedAlarm(DatabaseError):
    """Raised when no rejected alarm has the given id."""

    def __init__(self, rejected_id: int) -> None:
        super().__init__(f"there is no rejected alarm {rejected_id}")
        self.rejected_id = rejected_id


class RejectedAlarmClosed(DatabaseError):
    """Raised when a rejected alarm that is no longer open is to be retried or dropped."""

    def __init__(self, rejected_id: int, status: str, by: str | None) -> None:
        super().__init__(f"rejected alarm {rejected_id} is not open; it was {status} by {by!r}")
        self.rejected_id = rejected_id
        self.status = status


class PlantDataError(DatabaseError):
    """Raised when the plant's files hold something that cannot be right; nothing was changed.

    `problems` says each by file, line and column; `total` counts those left unsaid too.
    """

    def __init__(self, problems: Sequence[str], total: int | None = None) -> None:
        self.problems = tuple(problems)
        self.total = len(problems) if total is None else total
        unsaid = self.total - len(self.problems)
        super().__init__("\n".join([*self.problems, *([f"… and {unsaid} more"] if unsaid > 0 else [])]))
