"""What an edge box installs: the producers alone, without the worker's weight."""

import os
import subprocess
import sys
from pathlib import Path

from producers.events import ProducerError, UnreadableEvent
from producers.queue import PublishError
from producers.recording import BadRecording
from producers.sending import NotTaken
from producers.settings import SettingsError
from producers.spool import NoSpool, SpoolError

ROOT = Path(__file__).parents[3]
HEAVY = {"sqlalchemy", "alembic", "celery", "kombu", "langchain", "langchain_core", "openai", "db", "worker"}


def test_sending_alarms_loads_no_database_no_celery_and_no_langchain() -> None:
    program = """
import importlib, pkgutil, sys
import producers
names = [module.name for module in pkgutil.iter_modules(producers.__path__, "producers.")]
assert {"producers.events", "producers.queue", "producers.cli"} <= set(names), names
for name in names:
    importlib.import_module(name)
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""
    loaded = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert {"producers", "pydantic", "redis", "typer"} <= set(loaded)
    assert not HEAVY & set(loaded)


def test_the_errors_have_one_root() -> None:
    for error in (UnreadableEvent, PublishError, BadRecording, SettingsError, NotTaken, SpoolError, NoSpool):
        assert issubclass(error, ProducerError)
