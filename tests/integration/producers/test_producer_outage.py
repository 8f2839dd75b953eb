"""Producers through outages of a real broker: what is confirmed has arrived, what is not is in the spool."""

import os
import signal
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import redis

from producers import sending
from producers.events import AlarmEvent
from producers.queue import STREAM, connect, publish_json
from producers.sending import Counts, NotTaken, Sender
from producers.simulator import simulate
from producers.spool import Spool, SpoolError
from tests.helpers.servers import ValkeyServer

AWAY = "redis://127.0.0.1:1/0"
AN_HOUR = 3600.0
EVENTS = list(simulate(1300, 1, datetime(2026, 8, 4, 2, 30, tzinfo=UTC)))


@pytest.fixture(scope="module")
def server() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


@pytest.fixture
def broker(server: ValkeyServer) -> Iterator[ValkeyServer]:
    """One that a test may break; whole and empty again for the next."""
    yield server
    if server.process is None:
        server.start()
    thaw(server)
    with redis.Redis.from_url(server.url) as client:
        client.replicaof("no", "one")
        client.config_set("maxmemory", 0)
        client.flushall()


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with closing(Spool(str(tmp_path / "备用.spool"), 2000)) as spool:
        yield spool


def freeze(server: ValkeyServer) -> None:
    assert server.process
    os.kill(server.process.pid, signal.SIGSTOP)


def thaw(server: ValkeyServer) -> None:
    assert server.process
    os.kill(server.process.pid, signal.SIGCONT)


def arrived(broker: ValkeyServer) -> list[str]:
    """The events on the stream, each where it appeared first."""
    with redis.Redis.from_url(broker.url, decode_responses=True) as client:
        entries: list[tuple[str, dict[str, str]]] = client.xrange(STREAM)
    return list(dict.fromkeys(fields["event"] for _, fields in entries))


def as_json(events: Iterable[AlarmEvent]) -> list[str]:
    return [event.to_json() for event in events]


def kept(spool: Spool) -> list[str]:
    return [each.event.decode() for each in spool.head(10_000, spool.last())]


class Mend:
    """Mends the broker at the moment that it is found away."""

    def __init__(self, mend: Callable[[], object]) -> None:
        self.heard: list[str] = []
        self._mend = mend

    def __call__(self, what: str) -> None:
        self.heard.append(what)
        if len(self.heard) == 1:
            self._mend()


@pytest.mark.parametrize("spooled", [False, True])
@pytest.mark.parametrize("outage", ["killed", "frozen", "full", "read-only"])
def test_an_outage_shorter_than_the_wait_loses_nothing(
    broker: ValkeyServer, spool: Spool, outage: str, spooled: bool
) -> None:
    with connect(broker.url + "?socket_timeout=0.2") as client:
        harm: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "killed": (broker.kill, broker.start),
            "frozen": (lambda: freeze(broker), lambda: thaw(broker)),
            "full": (lambda: client.config_set("maxmemory", 1), lambda: client.config_set("maxmemory", 0)),
            "read-only": (
                lambda: client.replicaof("127.0.0.1", "1"),
                lambda: client.replicaof("no", "one"),
            ),
        }
        break_it, mend_it = harm[outage]
        mend = Mend(mend_it)
        sender = Sender(client, AN_HOUR, spool if spooled else None, mend)
        sender.send(EVENTS[:10])
        break_it()
        sender.send(EVENTS[10:1300])
        sender.finish()
    assert sender.counts(1300) == Counts(1300, 0, 0)
    assert arrived(broker) == as_json(EVENTS)
    assert len(mend.heard) == 2
    assert ("until it is back" if spooled else "trying again") in mend.heard[0]
    assert mend.heard[1] == "the broker takes alarms again"
    assert (sender.drained, sender.trouble) == (0, "")
    with redis.Redis.from_url(broker.url, decode_responses=True) as client:
        ((_, fields),) = client.xrange(STREAM, sender.last_entry_id, sender.last_entry_id)
    assert fields["event"] == EVENTS[-1].to_json()


def test_a_connection_cut_at_any_moment_loses_nothing(broker: ValkeyServer) -> None:
    """The killer works between any two commands of a pipeline, so some answers are lost."""
    with connect(broker.url) as client, redis.Redis.from_url(broker.url) as killer:
        sender = Sender(client, AN_HOUR)
        for start in range(0, 1300, 100):
            sender.send(EVENTS[start : start + 100])
            killer.client_kill_filter(_type="normal", skipme=True)
    assert sender.counts(1300) == Counts(1300, 0, 0)
    assert arrived(broker) == as_json(EVENTS)


def test_a_broker_that_stays_away_leaves_everything_in_the_spool_in_order(
    broker: ValkeyServer, spool: Spool
) -> None:
    with connect(AWAY) as client:
        sender = Sender(client, 0, spool)
        for start in range(0, 1300, 130):
            sender.send(EVENTS[start : start + 130])
        sender.finish()
    assert sender.counts(1300) == Counts(0, 1300, 0)
    assert "cannot be reached" in sender.trouble
    assert kept(spool) == as_json(EVENTS)
    with connect(broker.url) as client:
        drainer = Sender(client, 0, spool)
        drainer.drain()
    assert (drainer.drained, drainer.left()) == (1300, 0)
    assert arrived(broker) == as_json(EVENTS)
    assert sender.counts(1300) == Counts(1300, 0, 0), "whoever drained them"


def test_what_the_spool_holds_goes_before_anything_newer(broker: ValkeyServer, spool: Spool) -> None:
    spool.append(as_json(EVENTS[:3]), "earlier")
    with connect(broker.url) as client:
        sender = Sender(client, 0, spool)
        sender.send(EVENTS[3:5])
        sender.send(EVENTS[5:6])
        sender.finish()
    assert arrived(broker) == as_json(EVENTS[:6])
    assert (sender.drained, sender.counts(3)) == (3, Counts(3, 0, 0))


def test_a_broker_found_away_is_not_tried_for_every_batch(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0

    def counted(client: redis.Redis, events: Iterable[str | bytes]) -> list[str]:
        nonlocal tries
        tries += 1
        return publish_json(client, events)

    monkeypatch.setattr(sending, "publish_json", counted)
    with connect(AWAY) as client:
        sender = Sender(client, AN_HOUR, spool)
        for event in EVENTS[:40]:
            sender.send([event])
        assert tries < 10
        sender._try_at = 0.0
        sender.send(EVENTS[40:41])
    assert sender.counts(41) == Counts(0, 41, 0)


def test_a_broker_that_is_back_gets_the_spool_while_events_go_on(broker: ValkeyServer, spool: Spool) -> None:
    broker.kill()
    with connect(broker.url) as client:
        sender = Sender(client, 0, spool)
        sender.send(EVENTS[:5])
        broker.start()
        sender._try_at = 0.0
        sender.send(EVENTS[5:7])
        assert sender.counts(7) == Counts(7, 0, 0)
        sender.send(EVENTS[7:9])
    assert arrived(broker) == as_json(EVENTS[:9])


def test_a_refusal_that_cannot_pass_is_not_waited_for_and_kept_as_well(
    broker: ValkeyServer, spool: Spool
) -> None:
    with connect(broker.url) as client:
        client.set(STREAM, "no stream")
        sender = Sender(client, AN_HOUR, spool)
        sender.send(EVENTS[:3])
        sender.finish()
        assert sender.counts(3) == Counts(0, 3, 0)
        assert "WRONGTYPE" in sender.trouble
        client.delete(STREAM)
        sender.finish()
    assert sender.counts(3) == Counts(3, 0, 0)
    assert arrived(broker) == as_json(EVENTS[:3])


def test_who_finds_another_draining_adds_to_the_spool_and_waits_for_it(
    broker: ValkeyServer, spool: Spool
) -> None:
    spool.append(as_json(EVENTS[:2]), "earlier")
    with connect(broker.url) as client, closing(Spool(str(spool.file), 2000)) as theirs:
        sender = Sender(client, 0.2, spool)
        with theirs.draining():
            sender.send(EVENTS[2:4])
            sender.finish()
            assert arrived(broker) == []
            assert sender.counts(2) == Counts(0, 2, 0)
            assert f"process {os.getpid()} on" in sender.trouble
        Sender(client, 0, theirs).drain()
        sender.finish()
        assert sender.trouble == ""
    assert sender.counts(2) == Counts(2, 0, 0)
    assert arrived(broker) == as_json(EVENTS[:4])


def test_a_full_spool_says_what_was_not_taken(tmp_path: Path) -> None:
    with connect(AWAY) as client, closing(Spool(str(tmp_path / "s"), 5)) as spool:
        sender = Sender(client, 0.1, spool)
        sender.send(EVENTS[:3])
        with pytest.raises(NotTaken, match=r"cannot be reached .*; .*/s is full: it holds 5 events"):
            sender.send(EVENTS[3:10])
        assert sender.counts(10) == Counts(0, 5, 5)
        assert kept(spool) == as_json(EVENTS[:5])


def test_a_full_spool_is_waited_for_as_the_broker_is(broker: ValkeyServer, tmp_path: Path) -> None:
    broker.kill()
    with connect(broker.url) as client, closing(Spool(str(tmp_path / "s"), 5)) as spool:
        spool.append(as_json(EVENTS[:4]), "earlier")
        sender = Sender(client, AN_HOUR, spool, Mend(broker.start))
        sender.send(EVENTS[4:])
        sender.finish()
    assert (sender.drained, sender.counts(1296)) == (4, Counts(1296, 0, 0))
    assert arrived(broker) == as_json(EVENTS)


def test_a_spool_that_cannot_take_more_leaves_the_waiting(broker: ValkeyServer, spool: Spool) -> None:
    """Its disk is full: then it is as if there were none, and nothing is lost as long as the wait lasts."""
    spool._database.execute("PRAGMA max_page_count = 1")  # SQLite takes the number of pages that there are
    broker.kill()
    with connect(broker.url) as client:
        sender = Sender(client, AN_HOUR, spool, Mend(broker.start))
        sender.send(EVENTS[:1000])
        assert sender.counts(1000) == Counts(1000, 0, 0)
        broker.kill()
        hopeless = Sender(client, 0, spool)
        with pytest.raises(NotTaken, match=r"cannot be reached .*; .* cannot grow: the disk is full"):
            hopeless.send(EVENTS[1000:])
        assert hopeless.counts(300) == Counts(0, 0, 300)


def test_what_cannot_be_removed_after_it_was_sent_is_sent_again_and_not_lost(
    broker: ValkeyServer, tmp_path: Path
) -> None:
    file = tmp_path / "s"
    with connect(broker.url) as client, closing(Spool(str(file), 100, busy_seconds=0.1)) as spool:
        spool.append(as_json(EVENTS[:3]), "earlier")
        sender = Sender(client, 0, spool)
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM spooled").fetchall()
            with pytest.raises(SpoolError, match="locked by another program"):
                sender.drain()
        assert len(kept(spool)) == 3
        sender.drain()
        assert (sender.drained, sender.left()) == (3, 0)
    assert arrived(broker) == as_json(EVENTS[:3])
