"""Producers that are killed while they append to a spool, or drain it."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
import redis

from producers.queue import STREAM
from producers.spool import Spool
from tests.helpers.broken_broker import BrokenBroker
from tests.helpers.producer_process import Producer, ids_on_stream, recording, running, spooled
from tests.helpers.support import eventually


@pytest.fixture
def client(broker_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(broker_url) as client:
        yield client


# Starts a child for each line that it reads: loaded as it is, that is much quicker than a new process.
VICTIMS = """
import os, sys
from producers import sending
from producers.queue import connect
from producers.spool import Spool

sending._CHUNK = 5  # so that it is nearly always between a confirmation and a removal

def append(file, start):
    spool = Spool(file, 1_000_000)
    for number in range(int(start), 1_000_000):
        spool.append([str(number)], "me")
        print(number, flush=True)

def drain(file, url):
    with connect(url) as client:
        sending.Sender(client, 0, Spool(file, 1_000_000)).drain()

for line in sys.stdin:
    work, *arguments = line.split()
    if not (child := os.fork()):
        print(os.getpid(), flush=True)
        globals()[work](*arguments)
        os._exit(0)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


class Victims:
    """Children that do the same work one after the other, and are killed in it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        self._in, self._out = process.stdin, process.stdout

    def start(self, *work: object) -> int:
        self._in.write(" ".join(map(str, work)) + "\n")
        self._in.flush()
        return int(self._out.readline())

    def line(self) -> str:
        return self._out.readline()

    def kill(self, child: int) -> list[str]:
        """What it had still to say; nothing happens to one that has ended by itself."""
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        return list(iter(self._out.readline, "ended\n"))


@pytest.fixture
def victims(tmp_path: Path, broker_url: str) -> Iterator[Victims]:
    with running(Producer(tmp_path, broker_url), sys.executable, "-c", VICTIMS) as process:
        yield Victims(process)


def test_kill_9_while_it_appends_loses_nothing_that_was_taken(victims: Victims, tmp_path: Path) -> None:
    drawn = random.Random(4)
    file = tmp_path / "s"
    count = 0
    for _ in range(25):
        child = victims.start("append", file, count)
        taken = [victims.line() for _ in range(drawn.randint(1, 20))]
        taken += victims.kill(child)
        kept = spooled(file)
        assert kept == [str(number) for number in range(len(kept))]
        assert len(kept) - 1 - int(taken[-1]) in (0, 1)
        count = len(kept)


def test_kill_9_while_it_drains_loses_nothing_and_keeps_the_order(
    victims: Victims, tmp_path: Path, client: redis.Redis, broker_url: str
) -> None:
    drawn = random.Random(4)
    file = tmp_path / "s"
    events = recording(*({"event_id": str(number)} for number in range(300))).decode().splitlines()
    with closing(Spool(str(file), 300)) as spool:
        spool.append(events, "me")
    kills = 0
    while left := spooled(file):
        enough = client.xlen(STREAM) + drawn.randint(1, min(80, len(left)))
        child = victims.start("drain", file, broker_url)
        eventually(lambda enough=enough: client.xlen(STREAM) >= enough, 30, pause_seconds=0.001)  # type: ignore[misc]
        victims.kill(child)
        kills += 1
    assert kills >= 4
    assert ids_on_stream(client) == [str(number) for number in range(300)]
    assert client.xlen(STREAM) <= 300 + 5 * kills


def test_kill_9_before_the_broker_has_answered_removes_nothing(victims: Victims, tmp_path: Path) -> None:
    with closing(Spool(str(tmp_path / "s"), 10)) as spool:
        spool.append(["a", "b", "c"], "me")
    with BrokenBroker([b"$3\r\n1-1\r\n"], frozen=True) as broker:
        child = victims.start("drain", tmp_path / "s", broker.url)
        eventually(lambda: broker.entries, 30)
        victims.kill(child)
    assert spooled(tmp_path / "s") == ["a", "b", "c"]
