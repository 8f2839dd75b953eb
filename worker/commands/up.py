"""`alarm-worker up`: queue, database, worker and Flower on this machine, in the foreground until Ctrl-C."""

import contextlib
import importlib.util
import os
import secrets
import shlex
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from redis import AuthenticationError, RedisError
from redis import ConnectionError as BrokerConnectionError
from redis import TimeoutError as BrokerTimeoutError
from rich.console import Console

from db import terminal
from db.settings import DatabaseSettings, PlantSettings, settings_or_exit
from producers.settings import BrokerSettings, redacted
from worker.process.backoff import brief
from worker.process.celery_command import KILL_MARGIN_SECONDS, celery_command, worker_command
from worker.process.embedded import EmbeddedServerError, EmbeddedValkey
from worker.process.keeping import Child, StopSignals, keep_running
from worker.process.owned import start_owned
from worker.settings import AgentSettings, WorkerSettings

if TYPE_CHECKING:
    from db.session import Database

VALKEY_FOLDER = Path("var/valkey")
FLOWER_LOG = Path("var/flower.log")
FLOWER_USER = "andon"


class UpError(Exception):
    """Raised when the line cannot be brought up; its text says why and what to do."""


class FlowerSettings(BaseSettings):
    """Flower's own variables, as far as they are needed here."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", hide_input_in_errors=True)

    flower_address: str = "127.0.0.1"
    flower_port: int = Field(default=5555, ge=1, le=65535)
    flower_basic_auth: SecretStr | None = None

    @field_validator("flower_basic_auth")
    @classmethod
    def _pairs(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not value.get_secret_value().strip():
            return None
        pairs = value.get_secret_value().split(",")
        for user, colon, password in (pair.partition(":") for pair in pairs):
            if not (user and colon and password):
                raise ValueError("wants USER:PASSWORD, several of them separated by commas")
        return value


def run() -> int:
    """Its exit code: 0 after Ctrl-C or SIGTERM."""
    console = Console(highlight=False, markup=False, emoji=False)
    broker_url = settings_or_exit(BrokerSettings).broker_url
    for settings in (PlantSettings, AgentSettings):
        settings_or_exit(settings)
    grace = settings_or_exit(WorkerSettings).stop_grace_seconds
    flower_settings = settings_or_exit(FlowerSettings)
    with StopSignals() as stop, contextlib.ExitStack() as ending:
        try:
            children = []
            if valkey := _valkey_if_needed(console, broker_url):
                ending.callback(valkey.stop)
                queue = Child("Valkey", valkey.start)
                queue.keep()
                valkey.wait_until_ready()
                children.append(queue)
            _prepare_database(console)
            worker = Child("the worker", lambda: start_owned(worker_command()))
            ending.callback(worker.end, grace + KILL_MARGIN_SECONDS)
            children.append(worker)
            if flower := _flower(console, flower_settings):
                ending.callback(flower.end, 5)
                children.append(flower)
                ending.callback(flower.ask_to_end)  # both at once, then one is waited for after the other
            ending.callback(worker.ask_to_end)
            _print_commands(console)
            keep_running(children, stop)
        except (UpError, EmbeddedServerError) as error:
            console.print(f"error: {error}", style="red", soft_wrap=True)
            return 1
        console.print("\nstopping")
    return 0


def _valkey_if_needed(console: Console, url: str) -> EmbeddedValkey | None:
    """The server that is there is used; where none is, one of our own if the address means this machine."""
    if _answers(url):
        console.print(f"queue:       {redacted(url)} (a server that was running already)", soft_wrap=True)
        return None
    parts = urlsplit(url)
    ours = parts.scheme == "redis" and parts.hostname in ("127.0.0.1", "localhost")
    if not ours or "@" in parts.netloc:
        raise UpError(
            f"nothing answers at BROKER_URL {redacted(url)}; start that server, or unset BROKER_URL"
        )
    folder = VALKEY_FOLDER.resolve()
    console.print(f"queue:       {redacted(url)} (embedded Valkey, data in {folder})", soft_wrap=True)
    return EmbeddedValkey(folder, port=parts.port or 6379)


def _answers(url: str) -> bool:
    from producers.queue import connect

    with contextlib.closing(connect(url)) as broker:
        try:
            broker.ping()
        except AuthenticationError as error:  # a connection error too, but somebody did answer
            raise UpError(f"BROKER_URL {redacted(url)}: {brief(error)}") from None
        except (BrokerConnectionError, BrokerTimeoutError, OSError):
            return False
        except RedisError as error:
            raise UpError(f"BROKER_URL {redacted(url)}: {brief(error)}") from None
    return True


def _prepare_database(console: Console) -> None:
    """Brings it to head; a plant without any data gets the sample."""
    from sqlalchemy.exc import SQLAlchemyError

    from db.errors import DatabaseError
    from db.migrate import upgrade
    from db.session import Database

    try:
        database = Database(settings_or_exit(DatabaseSettings).database_url)
        where = terminal.place(database.url)
        try:
            upgrade(database)
            sample = _load_sample_if_empty(database)
        finally:
            database.close()
    except (DatabaseError, SQLAlchemyError, OSError, ImportError) as error:
        raise UpError(f"the database cannot be used: {brief(error)}") from None
    console.print(f"database:    {where}{' (the sample plant was loaded)' if sample else ''}", soft_wrap=True)


def _load_sample_if_empty(database: "Database") -> bool:
    from db.plant import load
    from db.queries import plant

    with database.reading() as session:
        empty = plant.is_empty(session)
    if empty:
        load(database, None)
    return empty


def _flower(console: Console, settings: FlowerSettings) -> Child | None:
    if importlib.util.find_spec("flower") is None:
        console.print("Flower:      not installed: pip install 'andon[flower]'")
        return None
    address, port = settings.flower_address, settings.flower_port
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            raise UpError(f"FLOWER_PORT {port} on {address} cannot be used: {error.strerror}") from None
    if settings.flower_basic_auth is None:
        login = f"{FLOWER_USER}:{secrets.token_urlsafe(12)}"
        said = f"user {FLOWER_USER}, password {login.partition(':')[2]} (FLOWER_BASIC_AUTH sets your own)"
    else:
        login = settings.flower_basic_auth.get_secret_value()
        said = "user and password as in FLOWER_BASIC_AUTH"
    console.print(f"Flower:      http://{address}:{port}, {said}", soft_wrap=True)
    environment = {
        "FLOWER_READ_ONLY": "true",  # it looks on
        **os.environ,
        "FLOWER_ADDRESS": address,
        "FLOWER_PORT": str(port),
        "FLOWER_BASIC_AUTH": login,
    }
    log = FLOWER_LOG.resolve()
    log.parent.mkdir(parents=True, exist_ok=True)

    def start() -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return start_owned(celery_command("flower"), environment=environment, output=output)

    return Child(f"Flower, which logs to {log},", start)


def _print_commands(console: Console) -> None:
    send = f"{_assigned('BROKER_URL')}{terminal.program('alarm-producer')}"
    look = f"{_assigned('DATABASE_URL')}{terminal.program('work-orders')} list"
    console.print(f"try it:      {send} send --line 交互屏组装A线 --code E401", soft_wrap=True)
    console.print(f"look at it:  {look}", soft_wrap=True)
    console.print("stop it:     Ctrl-C\n")


def _assigned(variable: str) -> str:
    """What another terminal needs to be told, unless it stands in .env or holds a password."""
    value = os.environ.get(variable)
    return f"{variable}={shlex.quote(value)} " if value and "@" not in value else ""
