"""What a Celery worker runs beside its tasks: intake and dispatcher, until the first sign of its end."""

import functools
import logging
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from celery import bootsteps
from celery.signals import worker_shutting_down

from worker.process.threads import KeptThread

if TYPE_CHECKING:
    from worker.wiring import Line

logger = logging.getLogger(__name__)

JOIN_SECONDS = 3.0
EXIT_MARGIN_SECONDS = 4.0
"""From the end of the grace time, when runs are cancelled, to the end of the process."""


class LineStep(bootsteps.StartStopStep):
    """Started after the pool and before the consumer of tasks; stopped, at the latest, before the pool."""

    requires = ("celery.worker.components:Pool",)

    def create(self, worker: Any) -> "LineThreads":
        if not worker.pool_cls.__module__.endswith(".thread"):
            sys.exit("error: this worker runs on threads; leave Celery's option --pool out")
        from worker.wiring import line

        _require_schema(line())
        return LineThreads(line(), worker.app, reader=worker.hostname, concurrency=worker.concurrency)


class LineThreads:
    """The threads beside the tasks."""

    def __init__(self, line: "Line", app: Any, reader: str, concurrency: int) -> None:
        from worker import tasks
        from worker.line.dispatcher import Dispatcher
        from worker.line.intake import Intake

        self._line = line
        self._stop = threading.Event()
        url, send = line.broker.broker_url, functools.partial(tasks.send, app)
        send_probe = functools.partial(tasks.send_probe, app)
        dispatcher = Dispatcher(
            line.database, url, tasks.queue_lists(), send, concurrency, send_probe=send_probe
        )
        intake = Intake(line.database, url, reader, on_new=dispatcher.wake, rules=line.plant.rules)
        self._threads = [KeptThread("intake", intake.run), KeptThread("dispatcher", dispatcher.run)]

    def start(self) -> None:
        from worker.broker import check as broker_check

        broker_check.start(self._line.broker.broker_url, self._stop)
        # Celery stops its steps only when its consumer has come to an end, which can take a while.
        worker_shutting_down.connect(self._on_shutting_down, weak=False)
        for thread in self._threads:
            thread.start(self._stop)
        threading.Thread(target=self._end_in_time, name="end in time", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()
        deadline = time.monotonic() + JOIN_SECONDS
        for thread in self._threads:
            thread.join(deadline - time.monotonic())

    def _on_shutting_down(self, **_: Any) -> None:
        self._stop.set()  # and nothing else: this runs inside a signal handler

    def _end_in_time(self) -> None:
        """Celery waits without limit for running tasks, and for a broker that does not answer."""
        self._stop.wait()
        grace = self._line.worker.stop_grace_seconds
        logger.info("stopping: %d alarms are running and have %g s to end", self._line.running(), grace)
        try:
            self._line.stop(grace)
            time.sleep(grace + EXIT_MARGIN_SECONDS)
            logger.error(
                "still not stopped, so the process ends now; leases that are left lapse by themselves"
            )
            logging.shutdown()
        finally:
            os._exit(1)


def _require_schema(line: "Line") -> None:
    from sqlalchemy.exc import SQLAlchemyError

    from db.errors import SchemaError
    from db.migrate import require_head

    try:
        require_head(line.database)
    except SchemaError as error:
        sys.exit(f"error: {error}")
    except SQLAlchemyError as error:
        logger.warning("the database cannot be reached yet: %s", type(error).__name__)
