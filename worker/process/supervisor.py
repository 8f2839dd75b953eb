"""`alarm-worker run`: a Celery worker that is started again, with back-off, when it ends unasked."""

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from worker.process.keeping import Child, StopSignals, keep_running
from worker.process.node_name import node_name
from worker.process.owned import start_owned

if TYPE_CHECKING:
    from db.session import Database

logger = logging.getLogger(__name__)

KILL_MARGIN_SECONDS = 10.0
"""More than the worker itself allows its end to take, after the grace time."""

# The program comes to our application by its import, not by Celery's --app, which would look into the current
# folder first and could find another package named `worker` there. When Celery is done, nothing is left to
# do: Python would take seconds to clear its memory up, and would wait for threads that hang in a look-up.
_START_CELERY = """
import logging, os, sys
root = sys.argv.pop(1)
if root not in sys.path:
    sys.path.insert(0, root)
from worker.app import app
code = app.start(sys.argv[1:])
logging.shutdown()
sys.stdout.flush()
os._exit(code or 0)
"""


def celery_command(*arguments: str) -> list[str]:
    """Celery's command line with our application, from any folder."""
    root = str(Path(__file__).resolve().parents[2])
    return [sys.executable, "-P", "-c", _START_CELERY, root, *arguments]


def worker_command() -> list[str]:
    # A worker asks its neighbours for nothing: what they would tell (revoked tasks, clocks) is not used here.
    alone = ("--without-gossip", "--without-mingle")
    return celery_command("worker", "--loglevel=INFO", *alone, f"--hostname={node_name()}@%h")


def run(concurrency: int | None = None) -> int:
    """Supervises one worker until SIGTERM or SIGINT; its exit code. Ends the program when it cannot begin."""
    from db.commands import terminal
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
