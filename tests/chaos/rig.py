"""The whole line made to be broken: broker, database, workers, a model behind HTTP, the running stream."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import redis

from db.queries.alarms.attempts import POISON_AFTER
from db.session import Database
from producers.queue import STREAM, connect
from tests.chaos import store
from tests.chaos.events import PROBE_SEVERITY, Maker
from tests.chaos.feeder import Feeder
from tests.chaos.watch import Watch
from tests.chaos.workers import CONCURRENCY, GRACE_SECONDS, LEASE_SECONDS, Worker
from tests.helpers.endpoint import Conversation, Endpoint, Reply, completion, good
from tests.helpers.processes import environment
from tests.helpers.servers import ValkeyServer
from tests.helpers.support import eventually
from worker.line.dispatcher import OUTSTANDING_PER_THREAD
from worker.tasks import queue_lists

WELL_SECONDS = 120.0
"""Until something is given up that comes within seconds when all is well."""
DRAIN_SECONDS = 300.0
"""A poison alarm rests for a minute between two attempts."""
BURST = (OUTSTANDING_PER_THREAD + 3) * CONCURRENCY
"""So many alarms at once that some have no task yet, some have one that waits, and the threads are busy."""


class Rig:
    """What a fault strikes at. Faults are struck from the main thread."""

    def __init__(
        self,
        folder: Path,
        broker: ValkeyServer,
        the_store: store.Store,
        database: Database,
        model: "Model",
        variables: Mapping[str, str],
        random: Random,
        rate: float,
    ) -> None:
        self.broker, self.store, self.database = broker, the_store, database
        self.broker_url = f"{broker.url}/0"
        self.model = model
        self.maker = Maker(random)
        self.feeder = Feeder(self.broker_url, self.maker, rate)
        self.watch = Watch(database)
        self.workers: list[Worker] = []
        self._folder = folder
        self.environment = environment(
            BROKER_URL=self.broker_url, DATABASE_URL=the_store.url, **dict(variables)
        )

    @property
    def worker(self) -> Worker:
        return self.workers[0]

    def staff(self, number: int, at_least: bool = False) -> None:
        """As many workers as that, all of them running, and the line at work; `at_least` sends none away."""
        while len(self.workers) > number and not at_least:
            self.workers.pop().stop()
        while len(self.workers) < number:
            name = f"worker{len(self.workers) + 1}" if self.workers else None
            self.workers.append(Worker(self._folder, self.environment, name))
        if self.broker.process is None:
            self.broker.start()
        for worker in self.workers:
            if not worker.runs:
                worker.start()
            worker.await_pid()
        self.consumes(datetime.now(UTC))
        for worker in self.workers[1:]:
            eventually(worker.is_ready, WELL_SECONDS, 0.2)

    def stop(self) -> None:
        for worker in self.workers:
            worker.stop()

    def consumes(self, since: datetime) -> float:
        """Sends an alarm; the seconds from `since` to its order. It fails when there is none for long."""
        event = self.maker.new(datetime.now(UTC), severity=PROBE_SEVERITY)
        self.feeder.push(event)
        identity = (event.source, event.event_id)
        at = eventually(lambda: self.watch.order_at(identity), WELL_SECONDS, 0.1)
        assert at is not None
        return (at - since).total_seconds()

    def taken_up(self, attempts: Mapping[int, int], since: datetime) -> float:
        """The seconds from `since` to the moment when the last of these alarms was begun anew."""
        began: dict[int, datetime] = {}

        def all_begun() -> bool:
            began.update(self.watch.started_after(attempts))
            return attempts.keys() - began.keys() <= self.watch.settled_by(attempts)

        eventually(all_begun, WELL_SECONDS, 0.1)
        return (max(began.values()) - since).total_seconds() if began else self.consumes(since)

    def at_work(self, random: Random) -> None:
        """Returns at a random moment at which alarms are in agents' runs.

        None of them has failed so often that it would rest for a minute if it failed once more.
        """
        time.sleep(random.uniform(0, 1.5))

        def work_goes_on() -> bool:
            failures = self.watch.failures_of_running()
            return bool(failures) and max(failures) < POISON_AFTER

        eventually(work_goes_on, WELL_SECONDS, 0.01)

    def backlog(self) -> int:
        """Entries that wait in the stream, read or not."""
        with contextlib.closing(connect(self.broker_url)) as client:
            return int(client.xlen(STREAM))

    def tasks_listed(self) -> int:
        with contextlib.closing(connect(self.broker_url)) as client:
            return sum(int(client.llen(name)) for name in queue_lists())

    def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Nothing new meanwhile; returns when the stream is empty and no alarm waits for its order."""
        looks: list[bool] = []

        def at_rest() -> bool:
            looks.append(self.backlog() == 0 and self.watch.nothing_is_open())
            return looks[-2:] == [True, True]  # between the two it stands for a moment

        with self.feeder.held():
            eventually(at_rest, seconds, 0.5)

    def broker_client(self) -> redis.Redis:
        return connect(self.broker_url)


class Model:
    """A good model that takes its time, now and then longer than a worker's grace."""

    def __init__(self, random: Random) -> None:
        self.slow_share = 0.02
        self._random = random
        self._lock = threading.Lock()

    def __call__(self, conversation: Conversation) -> Reply:
        with self._lock:
            slow = self._random.random() < self.slow_share
            seconds = self._random.uniform(3.0, 5.0) if slow else self._random.uniform(0.1, 0.4)
        return Reply.json(completion(good(conversation)), pause_before_seconds=seconds)


class LaxEndpoint(Endpoint):
    """Answers nothing to a request that was broken off: its sender is no more."""

    def answer(self, raw: bytes) -> Reply:
        try:
            return super().answer(raw)
        except json.JSONDecodeError:
            return Reply(reset=True)


@contextlib.contextmanager
def rigged(kind: str, folder: Path, seed: int, rate: float) -> Iterator[Rig]:
    """A line at work, on a database of this kind; nothing of it is left afterwards but the folder."""
    with contextlib.ExitStack() as stack:
        model = Model(Random(f"model {seed}"))
        endpoint = stack.enter_context(LaxEndpoint({"steady": model}))
        broker = stack.enter_context(ValkeyServer())
        the_store, database = stack.enter_context(store.opened(kind, folder))
        variables = {
            "LLM_MODEL": "steady",
            "OPENAI_BASE_URL": endpoint.url,
            "WORKER_CONCURRENCY": str(CONCURRENCY),
            "LEASE_SECONDS": str(LEASE_SECONDS),
            "STOP_GRACE_SECONDS": str(GRACE_SECONDS),
        }
        random = Random(f"stream {seed}")
        rig = Rig(folder, broker, the_store, database, model, variables, random, rate)
        stack.callback(rig.stop)
        stack.enter_context(rig.feeder)
        yield rig
