"""Celery's command line with our application, and the one that runs a worker."""

import sys
from pathlib import Path

from worker.process.node_name import node_name

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
