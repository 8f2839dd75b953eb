"""A dispatcher sends probes before alarms, and takes back of both what it could not send."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from redis import Redis
from sqlalchemy import select

from db.models import Alarm, Probe
from db.queries.alarms import probes
from db.queries.alarms.dispatch import DueAlarm
from db.session import Database
from tests.helpers.support import accepted, an_alarm
from worker.line.dispatcher import Dispatcher, SendError
from worker.tasks import queue_lists

ONE, TWO = "1" * 32, "2" * 32


class Tasks:
    """What was sent, in its order, until the broker goes away."""

    def __init__(self, most: int) -> None:
        self.sent: list[str] = []
        self._most = most

    def probe(self, token: str) -> None:
        self._note(token)

    def alarm(self, alarm: DueAlarm) -> None:
        self._note(alarm.line_name)

    def _note(self, what: str) -> None:
        if len(self.sent) == self._most:
            raise ConnectionError("the broker went away")
        self.sent.append(what)


def send_due(database: Database, broker_url: str, tasks: Tasks) -> None:
    dispatcher = Dispatcher(
        database, broker_url, queue_lists(), tasks.alarm, concurrency=1, send_probe=tasks.probe
    )
    with Redis.from_url(broker_url, protocol=2) as broker:
        dispatcher.send_due(broker)


@pytest.fixture
def due(database: Database) -> Callable[[], tuple[set[str], set[str]]]:
    """Two probes and two alarms; tells which of each are marked as sent."""
    accepted(database, an_alarm(line_name="A"), an_alarm(line_name="B"), now=datetime.now(UTC))
    with database.writing() as session:
        probes.receive(session, [ONE, TWO])

    def marked() -> tuple[set[str], set[str]]:
        with database.reading() as session:
            tokens = session.scalars(select(Probe.token).where(Probe.dispatched_at.is_not(None)))
            lines = session.scalars(select(Alarm.line_name).where(Alarm.status == "dispatched"))
            return set(tokens), set(lines)

    return marked


@pytest.mark.parametrize("sent", [0, 1, 2, 3])
def test_what_was_not_sent_is_due_again_and_what_was_sent_is_not(
    database: Database, broker_url: str, due: Callable[[], tuple[set[str], set[str]]], sent: int
) -> None:
    tasks = Tasks(sent)
    with pytest.raises(SendError, match=f"{4 - sent} tasks were not sent: ConnectionError"):
        send_due(database, broker_url, tasks)
    tokens, lines = due()
    assert tokens == set(tasks.sent[:2])
    assert lines == set(tasks.sent[2:])


def test_probes_go_first(
    database: Database, broker_url: str, due: Callable[[], tuple[set[str], set[str]]]
) -> None:
    tasks = Tasks(4)
    send_due(database, broker_url, tasks)
    assert set(tasks.sent[:2]) == {ONE, TWO}
    assert tasks.sent[2:] == ["A", "B"]
    assert due() == ({ONE, TWO}, {"A", "B"})
