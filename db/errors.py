"""What can go wrong in this package; the type says what happens next."""

from collections.abc import Sequence


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
    """Raised when the event is known, but no work order has come of it."""

    def __init__(self, event_id: str, source: str, status: str) -> None:
        super().__init__(event_id, source)
        why = "a cleared event makes none" if status == "stored" else "one is made once it has been handled"
        self.args = (f"event {event_id!r} from {source!r} is {status} and has no work order; {why}",)
        self.event_id = event_id
        self.status = status


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


class UnknownRejectedAlarm(DatabaseError):
    """Raised when no rejected alarm has the given id."""

    def __init__(self, rejected_id: int) -> None:
        super().__init__(f"there is no rejected alarm {rejected_id}")
        self.rejected_id = rejected_id


class PlantDataError(DatabaseError):
    """Raised when the plant's files hold something that cannot be right; nothing was changed.

    `problems` says each by file, line and column; `total` counts those left unsaid too.
    """

    def __init__(self, problems: Sequence[str], total: int | None = None) -> None:
        self.problems = tuple(problems)
        self.total = len(problems) if total is None else total
        unsaid = self.total - len(self.problems)
        super().__init__("\n".join([*self.problems, *([f"… and {unsaid} more"] if unsaid > 0 else [])]))
