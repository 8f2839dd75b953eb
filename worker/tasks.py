"""The Celery tasks: a row's id in, the handler called; and a probe's token."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery, shared_task

from db.queries.alarms.dispatch import DueAlarm
from db.session import is_away
from worker.process.backoff import brief

HANDLE_ALARM = "andon.handle_alarm"
CLAIM_PROBE = "andon.claim_probe"
QUEUE = "andon"
"""Celery's queue, in the same database of the broker as the stream `alarms`. Its other keys are `_kombu.*`,
so a second Celery application wants a database of its own."""

PRIORITY_STEPS = (0, 3, 6, 9)
"""kombu serves 0 first, and takes a priority in between for the step below it."""


def queue_lists() -> list[str]:
    """The names of the lists that kombu makes of the queue, one a step of priority."""
    return [QUEUE, *(f"{QUEUE}\x06\x16{step}" for step in PRIORITY_STEPS[1:])]


class DatabaseFailed(Exception):
    """Raised when the database is away, full or locked; the dispatcher sends a task again."""


# Celery writes what a task `throws` on one line: while the database is away every task fails, and a page of
# traceback for each would say no more.
@shared_task(name=HANDLE_ALARM, throws=(DatabaseFailed,))
def handle_alarm(alarm_id: int) -> str:
    """Makes one attempt at an alarm and says what became of it."""
    from worker.wiring import line

    with _said_briefly():
        return line().handle(alarm_id)


@shared_task(name=CLAIM_PROBE, throws=(DatabaseFailed,))
def claim_probe(token: str) -> str:
    """Claims a probe in the way of an alarm: on the line's loop, in the database."""
    from worker.wiring import line

    with _said_briefly():
        return line().claim_probe(token)


@contextmanager
def _said_briefly() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not is_away(error):
            raise
        raise DatabaseFailed(brief(error)) from None


def send(app: Celery, alarm: DueAlarm) -> None:
    """Sends the task, once: what does not arrive is sent again by the dispatcher."""
    shown: dict[str, Any] = {
        "alarm_id": alarm.id,
        "line": alarm.line_name,
        "code": alarm.fault_code,
        "event_id": alarm.event_id,
    }
    app.send_task(
        HANDLE_ALARM,
        kwargs={"alarm_id": alarm.id},
        argsrepr="()",
        kwargsrepr=repr(shown),
        priority=_priority(alarm.severity),
        retry=False,
    )


def send_probe(app: Celery, token: str) -> None:
    """Sends a probe's task, once, as the worst alarms' are sent."""
    kwargs = {"token": token}
    app.send_task(CLAIM_PROBE, kwargs=kwargs, argsrepr="()", kwargsrepr=repr(kwargs), priority=0, retry=False)


def _priority(severity: int) -> int:
    """0 to 9: what was sent before, of less severe alarms, does not keep a severe one waiting."""
    return 9 - min(9, (severity - 1) // 100)
