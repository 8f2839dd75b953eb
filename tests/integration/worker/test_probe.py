"""A probe through a line of real parts, and through one where a part is missing: the right leg is named."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from redis import Redis
from sqlalchemy import text

from db.models import Alarm, Probe, RejectedAlarm, WorkOrder
from db.queries.alarms import lease
from db.session import Database
from producers.queue import STREAM
from tests.helpers.probing import stuck, stuck_at
from tests.helpers.support import accepted, an_alarm, count, eventually
from worker.commands.probing import TO_CLAIM, TO_DISPATCH, TO_INTAKE, ask
from worker.line.dispatcher import Dispatcher
from worker.line.intake import GROUP, Intake
from worker.tasks import QUEUE, queue_lists
from worker.wiring import Line

READER = "celery@here"

only_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture(autouse=True)
def _settings(database_url: str, broker_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.line.intake.BLOCK_MILLISECONDS", 50)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("BROKER_URL", broker_url)


@pytest.fixture
def broker(broker_url: str) -> Iterator[Redis]:
    with Redis.from_url(broker_url, protocol=2) as client:
        yield client


@pytest.fixture
def line(_settings: None) -> Iterator[Line]:
    """A worker's own parts, as its tasks use them."""
    built = Line()
    yield built
    built._loop.close()
    built.database.close()


@contextmanager
def running(
    work: Callable[[threading.Event], None], end: Callable[[], None] = lambda: None
) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        end()
        thread.join(30)
    assert not thread.is_alive()


def _carry_out(tasks: ThreadPoolExecutor, claim: Callable[[str], object], token: str) -> None:
    tasks.submit(claim, token)


@contextmanager
def parts(
    database: Database, broker_url: str, intake: bool = True, claim: Callable[[str], object] | None = None
) -> Iterator[None]:
    """An intake, and a dispatcher for tasks that a thread carries out at once."""
    with ExitStack() as stack:
        dispatcher = None
        if claim is not None:
            tasks = stack.enter_context(ThreadPoolExecutor(4))
            dispatcher = Dispatcher(
                database,
                broker_url,
                queue_lists(),
                send=lambda alarm: None,
                concurrency=4,
                send_probe=partial(_carry_out, tasks, claim),
            )
            stack.enter_context(running(dispatcher.run, dispatcher.wake))
        if intake:
            wake = dispatcher.wake if dispatcher else lambda: None
            stack.enter_context(running(Intake(database, broker_url, READER, on_new=wake).run))
        yield


def is_left(database: Database, broker: Redis) -> tuple[int, int]:
    """Rows and entries of probes."""
    return count(database, Probe), broker.xlen(STREAM) if broker.exists(STREAM) else 0


def no_claim(_token: str) -> None:
    """A worker that takes the task and hangs."""


def test_a_probe_comes_through_a_whole_line_and_leaves_nothing_behind(
    database: Database, broker: Redis, broker_url: str, line: Line
) -> None:
    with parts(database, broker_url, claim=line.claim_probe):
        answer = ask(database, broker_url, timeout_seconds=30)
    assert (answer.works, answer.stuck, answer.said) == (True, None, "")
    assert list(answer.legs_ms) == [TO_INTAKE, TO_DISPATCH, TO_CLAIM]
    assert answer.total_ms == sum(answer.legs_ms.values())
    assert answer.claimed_by is not None
    assert answer.claimed_by.rpartition(":")[2].isdigit()
    assert is_left(database, broker) == (0, 0)
    assert [count(database, table) for table in (Alarm, WorkOrder, RejectedAlarm)] == [0, 0, 0]


def test_probes_do_not_wait_for_alarms_that_fill_the_room(
    database: Database, broker: Redis, broker_url: str, line: Line
) -> None:
    for name in queue_lists():
        broker.lpush(name, *[b"a task"] * 8)
    accepted(database, an_alarm(), now=datetime.now(UTC))
    with parts(database, broker_url, claim=line.claim_probe):
        assert ask(database, broker_url, timeout_seconds=30).works


def test_without_an_intake_nobody_reads_it(
    database: Database, broker: Redis, broker_url: str, line: Line
) -> None:
    with parts(database, broker_url, intake=False, claim=line.claim_probe):
        answer = ask(database, broker_url, timeout_seconds=1)
    stuck(answer, TO_INTAKE, "no worker has read it", "BROKER_URL")
    assert answer.legs_ms == {}
    assert is_left(database, broker) == (0, 0)


def test_while_the_database_takes_no_writes_the_intake_that_was_given_it_is_named(
    database: Database, broker: Redis, broker_url: str, database_url: str
) -> None:
    other = Database(database_url)
    with parts(database, broker_url):
        with other.writing() as session:  # on SQLite that is the lock
            if not other.is_sqlite:
                session.execute(text("LOCK TABLE probe IN SHARE MODE"))
            given = f"the reader {READER} was given it"
            eventually(lambda: given in ask(database, broker_url, timeout_seconds=1).said, 30)
        eventually(lambda: count(database, Probe) > 0, 30)  # it was too late, and harms nobody
    other.close()


@only_sqlite
def test_what_was_taken_off_the_stream_and_is_not_in_this_database_is_elsewhere(
    database: Database, broker: Redis, broker_url: str
) -> None:
    def takes_it_elsewhere(stop: threading.Event) -> None:
        while not stop.wait(0.02):
            broker.xtrim(STREAM, maxlen=0, approximate=False)

    with running(takes_it_elsewhere):
        stuck(ask(database, broker_url, timeout_seconds=1), TO_INTAKE, "not in this database", "DATABASE_URL")


def test_an_intake_that_is_behind_is_busy_and_not_dead(
    database: Database, broker: Redis, broker_url: str
) -> None:
    def is_slow(stop: threading.Event) -> None:
        broker.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
        while not stop.wait(0.1):
            broker.xreadgroup(GROUP, READER, {STREAM: ">"}, count=1)

    for number in range(1999):
        broker.xadd(STREAM, {"event": str(number)})
    with running(is_slow):
        said = "2000 entries by now: it is behind, not dead"

        def is_said() -> bool:
            answer = ask(database, broker_url, timeout_seconds=1)
            return answer.busy and said in answer.said

        eventually(is_said, 30)


def test_without_a_dispatcher_no_task_is_sent(database: Database, broker: Redis, broker_url: str) -> None:
    with parts(database, broker_url):
        answer = stuck_at(TO_DISPATCH, database, broker_url, "no task was sent", "dispatcher")
    assert list(answer.legs_ms) == [TO_INTAKE]
    assert is_left(database, broker) == (0, 0)


def test_a_task_that_is_taken_and_not_carried_out_is_said(
    database: Database, broker: Redis, broker_url: str
) -> None:
    with parts(database, broker_url, claim=no_claim):
        answer = stuck_at(TO_CLAIM, database, broker_url, "a worker has taken its task")
    assert list(answer.legs_ms) == [TO_INTAKE, TO_DISPATCH]
    assert not answer.busy
    assert is_left(database, broker) == (0, 0)


def test_a_task_that_no_worker_takes_is_said(database: Database, broker: Redis, broker_url: str) -> None:
    with parts(database, broker_url, claim=lambda token: broker.lpush(QUEUE, token)):
        stuck_at(TO_CLAIM, database, broker_url, "on the broker's list that no worker takes")


def test_a_line_whose_alarms_are_worked_on_is_busy_and_not_dead(database: Database, broker_url: str) -> None:
    (alarm_id,) = accepted(database, an_alarm(), now=datetime.now(UTC))
    with database.writing() as session:
        assert lease.claim(session, alarm_id, "here:1", datetime.now(UTC), timedelta(hours=1))
    with parts(database, broker_url, claim=no_claim):
        answer = stuck_at(TO_CLAIM, database, broker_url, "1 alarms are being worked on", "busy, not dead")
    assert answer.busy


def test_a_worker_whose_loop_hangs_claims_nothing(
    database: Database, broker: Redis, broker_url: str, line: Line
) -> None:
    over = threading.Event()
    line._loop.loop.call_soon_threadsafe(over.wait, 60)
    with parts(database, broker_url, claim=line.claim_probe):
        stuck_at(TO_CLAIM, database, broker_url, "its event loop hangs")
        over.set()
    assert is_left(database, broker) == (0, 0)


def test_a_worker_whose_threads_all_hang_claims_nothing(
    database: Database, broker_url: str, line: Line
) -> None:
    over = threading.Event()
    for _ in range(line._loop._executor._max_workers):
        line._loop._executor.submit(over.wait, 60)
    with parts(database, broker_url, claim=line.claim_probe):
        stuck_at(TO_CLAIM, database, broker_url)
        over.set()
