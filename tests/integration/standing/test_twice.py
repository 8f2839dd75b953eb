"""Idempotent under fire: the same tasks come to two workers at once, and twice; each alarm has one order."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from db.models import AgentRun, Alarm, WorkOrder
from db.models.alarm import AlarmStatus, RunOutcome
from db.session import Database
from tests.helpers.endpoint import Conversation, Endpoint, Message, good
from tests.helpers.line import Line, close_models, shared_loop
from tests.helpers.support import accepted, an_alarm

ALARMS = 20


@pytest.fixture(autouse=True)
def _connections_closed() -> Iterator[None]:
    yield
    close_models()


@pytest.fixture
def other(plant: Database, database_url: str) -> Iterator[Database]:
    """The database as another worker has it: with connections and, on SQLite, a queue of its own."""
    opened = Database(database_url)
    yield opened
    opened.close()


def test_every_task_comes_to_two_workers_twice_and_each_alarm_has_one_order(
    plant: Database, other: Database
) -> None:
    rows = accepted(plant, *(an_alarm() for _ in range(ALARMS)), now=datetime.now(UTC))
    workers = [Line(plant), Line(other)]
    gate = threading.Barrier(4)

    def worker(number: int) -> list[str]:
        line = workers[number % 2]
        gate.wait(30)
        return shared_loop().run(line._all(rows if number < 2 else rows[::-1]))

    with ThreadPoolExecutor(4) as threads:
        said = [outcome for mine in threads.map(worker, range(4)) for outcome in mine]
    assert Counter(outcome.split(":")[0] for outcome in said) == {"settled": ALARMS, "skipped": 3 * ALARMS}
    with plant.reading() as session:
        orders = session.scalars(select(WorkOrder.event_id)).all()
        alarms = session.execute(select(Alarm.status, Alarm.attempt, Alarm.failures)).all()
        outcomes = session.scalars(select(AgentRun.outcome)).all()
    assert len(orders) == len(set(orders)) == ALARMS
    assert {tuple(alarm) for alarm in alarms} == {(AlarmStatus.SETTLED, 1, 0)}
    assert list(outcomes) == [RunOutcome.SETTLED] * ALARMS


def test_a_task_that_comes_again_when_the_order_stands_asks_nobody(plant: Database, other: Database) -> None:
    requests: list[int] = []

    def counted(conversation: Conversation) -> Message:
        requests.append(conversation.request)
        return good(conversation)

    with Endpoint({"counted": counted}) as endpoint:
        alarm = an_alarm(equipment="交互屏贴合机A1")
        Line(plant, "counted", endpoint.url).order(alarm)
        before = len(requests)
        again = Line(other, "counted", endpoint.url)
        with plant.reading() as session:
            row = session.scalars(select(Alarm.id)).one()
        assert all(said.startswith("skipped") for said in shared_loop().run(again._all([row] * 5)))
        assert len(requests) == before == 3
