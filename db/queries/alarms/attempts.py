"""How often an alarm is tried, how long it rests in between, and when it is due."""

import random
from datetime import datetime, timedelta

from sqlalchemy import Case, ColumnElement, and_, case, literal, or_, text

from db.models import Alarm
from db.models.alarm import OPEN_IN_SQL, AlarmStatus

POISON_AFTER = 3
"""So many attempts without an order, and the alarm is poison: from then on the runbook alone tries."""
CLOCKS_DIFFER = timedelta(seconds=60)
"""A time that lies further ahead than it can, by more than this, was written before a clock was set back."""

_WAIT_SECONDS = (0, 2, 10, 2, 60, 600, 3600)
"""By the number of failures; the last for all that are more."""
_SPREAD = 0.25
"""Long waits differ by up to so much: a worker that dies takes all its alarms along, and the one that killed
it must not meet the same others each time."""

STILL_OPEN = text(f"alarm.status in {OPEN_IN_SQL}")


def wait(failures: int, lapsed: bool = False) -> timedelta:
    """Until the next attempt, after so many failures. A lapse has taken its lease's time,
    which is wait enough at first."""
    if failures <= POISON_AFTER:
        return timedelta() if lapsed else _longest(failures)
    return _longest(failures) * random.uniform(1 / (1 + _SPREAD), 1)


def at_rest() -> Case[AlarmStatus]:
    """The status of an alarm, by its failures, that nobody holds and no task was sent for."""
    poison, waiting = (literal(word, Alarm.status.type) for word in (AlarmStatus.POISON, AlarmStatus.WAITING))
    return case((Alarm.failures >= POISON_AFTER, poison), else_=waiting)


def due(now: datetime) -> ColumnElement[bool]:
    """That nobody has the alarm, and its time has come. A time too far ahead is no time to wait for."""
    *latest, last = (now + _longest(failures) + CLOCKS_DIFFER for failures in range(len(_WAIT_SECONDS)))
    too_far = case(
        *((Alarm.failures == failures, _moment(moment)) for failures, moment in enumerate(latest)),
        else_=_moment(last),
    )
    return and_(
        Alarm.status.in_((AlarmStatus.WAITING, AlarmStatus.POISON)),
        or_(
            Alarm.failures == 0,
            Alarm.next_attempt_at <= now,
            Alarm.next_attempt_at > too_far,
        ),
    )


def _longest(failures: int) -> timedelta:
    seconds = _WAIT_SECONDS[min(failures, len(_WAIT_SECONDS) - 1)]
    return timedelta(seconds=seconds * (1 if failures <= POISON_AFTER else 1 + _SPREAD))


def _moment(value: datetime) -> ColumnElement[datetime]:
    return literal(value, Alarm.next_attempt_at.type)
