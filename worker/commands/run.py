"""`alarm-worker run`: a Celery worker that is started again, with back-off, when it ends unasked."""

import logging
import os
from typing import TYPE_CHECKING

from worker.process.celery_command import KILL_MARGIN_SECONDS, worker_command
from worker.process.keeping import Child, StopSignals, keep_running
from worker.process.owned import start_owned

if TYPE_CHECKING:
    from db.session import Database

logger = logging.getLogger(__name__)


def run(concurrency: int | None = None) -> int:
    """Supervises one worker until SIGTERM or SIGINT; its exit code. Ends the program when it cannot begin."""
    from db import terminal
    from db.settings import PlantSettings, settings_or_exit
    from producers.settings import BrokerSettings
    from worker.settings import AgentSettings, WorkerSettings

    environment = dict(os.environ)
    if concurrency is not None:
        environment["WORKER_CONCURRENCY"] = str(concurrency)
    for settings in (BrokerSettings, PlantSettings, AgentSettings):
        settings_or_exit(settings)
    grace = settings_or_exit(WorkerSettings).stop_grace_seconds
    child = Child("the worker", lambda: start_owned(worker_command(), environment=environment))
    with StopSignals() as stop:
        with terminal.opened(at_head=False) as database:
            wait_for_schema(database, stop)
        try:
            keep_running([child], stop)
        finally:
            code = child.end(grace + KILL_MARGIN_SECONDS)
    return code


def wait_for_schema(database: "Database", stop: StopSignals) -> None:
    """Returns when the database is at head, or stop is set; raises SchemaError when it is not.

    One that cannot be reached is waited for: after a power cut nobody starts a plant's machines in order.
    """
    from sqlalchemy.exc import DBAPIError

    from db.migrate import require_head
    from worker.process.backoff import BackOff

    back_off = BackOff(logger)
    while not stop.is_set():
        try:
            require_head(database)
            return
        except DBAPIError as error:
            back_off.failed("the database", error, stop)
