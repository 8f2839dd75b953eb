"""Trying again: as long as it may help, as long as it may take, and never what cannot pass."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from ssl import SSLCertVerificationError

import pytest
import redis

from producers.patience import patiently
from producers.queue import PublishError, connect, publish
from producers.sending import Counts, NotTaken, Sender
from producers.simulator import simulate
from producers.spool import Spool
from tests.helpers.broken_broker import BrokenBroker
from tests.unit.producers.test_queue import CONFIRMED, START

LOST = b""
FULL = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
AWAY = "redis://127.0.0.1:1/0"
AN_HOUR = 3600.0


class Clock:
    """Passes only when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redis.retry.sleep", lambda seconds: None)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, _no_pauses: None) -> Clock:
    clock = Clock()
    monkeypatch.setattr("producers.patience.time.monotonic", clock.monotonic)
    monkeypatch.setattr("redis.retry.sleep", clock.sleep)
    return clock


def failing(clock: Clock, takes_seconds: float, *confirmed: int) -> Callable[[], None]:
    """An attempt that confirms so many events, one after the other, and then none at all."""
    left = list(confirmed)

    def attempt() -> None:
        clock.now += takes_seconds
        raise PublishError(["1-1"] * (left.pop(0) if left else 0), "away")

    return attempt


def test_the_pauses_grow_and_end_with_the_wait(clock: Clock) -> None:
    failures: list[PublishError] = []
    with pytest.raises(PublishError):
        patiently(failing(clock, 0), 30, failures.append)
    assert len(failures) == len(clock.pauses) >= 8
    assert clock.pauses[0] <= 0.5 < 1 < clock.pauses[3]
    assert max(clock.pauses) <= 4
    assert sum(clock.pauses) == pytest.approx(30)


def test_an_attempt_that_hangs_is_part_of_the_wait(clock: Clock) -> None:
    with pytest.raises(PublishError):
        patiently(failing(clock, 5), 30, lambda _: None)
    assert clock.now - 1000 <= 35


def test_whoever_confirms_something_is_waited_for_anew(clock: Clock) -> None:
    with pytest.raises(PublishError):
        patiently(failing(clock, 20, 1, 1, 1, 0), 30, lambda _: None)
    assert 60 + 30 <= clock.now - 1000 <= 60 + 30 + 20


def test_without_a_wait_it_is_tried_once(clock: Clock) -> None:
    with pytest.raises(PublishError):
        patiently(failing(clock, 0, 1, 1), 0, lambda _: pytest.fail("there is no further attempt"))
    assert clock.pauses == []


def sent(broker: BrokenBroker, wait_seconds: float, count: int = 1) -> Sender:
    with connect(broker.url) as client:
        sender = Sender(client, wait_seconds)
        sender.send(list(simulate(count, 1, START)))
    assert sender.counts(count) == Counts(count, 0, 0)
    return sender


@pytest.mark.parametrize(
    "refusal",
    [
        b"-LOADING Valkey is loading the dataset in memory\r\n",
        FULL,
        b"-MISCONF Valkey is configured to save RDB snapshots, but it's unable to persist to disk.\r\n",
        b"-READONLY You can't write against a read only replica.\r\n",
        b"-NOREPLICAS Not enough good replicas to write.\r\n",
        b"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
        b"-CLUSTERDOWN The cluster is down\r\n",
        b"-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
        b"-BUSY Valkey is busy running a script.\r\n",
        b"-ERR max number of clients reached\r\n",
        b"HTTP/1.1 502 Bad Gateway\r\n",
        LOST,
    ],
)
def test_what_may_pass_is_tried_again(refusal: bytes) -> None:
    with BrokenBroker([refusal, refusal, CONFIRMED]) as broker:
        sender = sent(broker, AN_HOUR)
        assert len(broker.entries) == 3
    assert (sender.first_entry_id, sender.trouble) == ("1-1", "")


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        (b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n", "refused an event"),
        (b"-NOPERM User edge has no permissions to run the 'xadd' command\r\n", "refused an event"),
        (b"-NOAUTH Authentication required.\r\n", "wants another user or password"),
        (b"-ERR unknown command 'XADD', with args beginning with: 'alarms'\r\n", "refused an event"),
    ],
)
def test_what_cannot_pass_is_not_tried_again(refusal: bytes, says: str) -> None:
    with BrokenBroker([refusal, CONFIRMED]) as broker, connect(broker.url) as client:
        sender = Sender(client, AN_HOUR, say=lambda _: pytest.fail("there is nothing to wait for"))
        with pytest.raises(NotTaken, match=says):
            sender.send(list(simulate(1, 1, START)))
        assert len(broker.entries) == 1
    assert sender.counts(1) == Counts(0, 0, 1)


def test_a_wrong_password_and_a_wrong_database_are_not_tried_again(broker_url: str) -> None:
    refusal = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"
    with BrokenBroker([CONFIRMED], refusal=refusal) as broker:
        urls = {
            f"redis://:s3cret@127.0.0.1:{broker.port}/0": "another user or password",
            f"{broker_url.rpartition('/')[0]}/99999": "DB index is out of range",
        }
        for url, says in urls.items():
            with connect(url) as client, pytest.raises(NotTaken, match=says) as caught:
                Sender(client, AN_HOUR).send(list(simulate(1, 1, START)))
            assert "s3cret" not in str(caught.value)


def test_a_certificate_that_is_not_trusted_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(connection: redis.SSLConnection) -> None:
        raise SSLCertVerificationError(1, "certificate verify failed: self-signed certificate")

    monkeypatch.setattr(redis.SSLConnection, "_connect", refuse)
    with (
        connect("rediss://127.0.0.1:1/0") as client,
        pytest.raises(NotTaken, match="is not trusted"),
    ):
        Sender(client, AN_HOUR).send(list(simulate(1, 1, START)))


def test_events_that_a_broken_pipeline_brought_are_sent_again_in_their_order() -> None:
    events = list(simulate(7, 1, START))
    with BrokenBroker([CONFIRMED] * 3 + [LOST] + [CONFIRMED] * 7) as broker:
        sent(broker, AN_HOUR, 7)
        arrived = [entry.decode() for entry in broker.entries]
    assert arrived == [event.to_json() for event in events[:4] + events]


def test_after_a_refusal_only_the_rest_is_sent_again() -> None:
    events = list(simulate(7, 1, START))
    with BrokenBroker([CONFIRMED] * 3 + [FULL] * 4 + [CONFIRMED] * 4) as broker:
        sent(broker, AN_HOUR, 7)
        arrived = [entry.decode() for entry in broker.entries]
    assert arrived == [event.to_json() for event in events + events[3:]]


def test_after_a_refusal_a_new_connection_is_made() -> None:
    """The name may lead to another server by then: the one that answered has become a replica."""
    replica = b"-READONLY You can't write against a read only replica.\r\n"
    with BrokenBroker([replica, CONFIRMED]) as broker:
        sent(broker, AN_HOUR)
        assert broker.connections == 2


@pytest.mark.parametrize("spooled", [False, True])
def test_a_broker_that_takes_one_event_at_a_time_gets_them_all(
    clock: Clock, tmp_path: Path, spooled: bool
) -> None:
    """However long that takes in all: each event confirmed begins the wait anew."""
    events = list(simulate(40, 1, START))
    replies = [reply for left in range(40, 0, -1) for reply in [CONFIRMED] + [FULL] * (left - 1)]
    with (
        BrokenBroker(replies) as broker,
        connect(broker.url) as client,
        closing(Spool(str(tmp_path / "s"), 100)) as spool,
    ):
        if spooled:
            spool.append([event.to_json() for event in events], "earlier")
            sender = Sender(client, 30, spool)
            sender.drain()
            assert (sender.drained, spool.count()) == (40, 0)
        else:
            Sender(client, 30).send(events)
        arrived = dict.fromkeys(entry.decode() for entry in broker.entries)
    assert list(arrived) == [event.to_json() for event in events]
    assert sum(clock.pauses) > 60


def test_only_what_was_confirmed_is_removed_from_the_spool(tmp_path: Path) -> None:
    with (
        BrokenBroker([CONFIRMED] * 2 + [FULL] * 3) as broker,
        connect(broker.url) as client,
        closing(Spool(str(tmp_path / "s"), 100)) as spool,
    ):
        spool.append(["a", "b", "c", "d", "e"], "earlier")
        sender = Sender(client, 0, spool)
        sender.drain()
        assert sender.drained == 2
        assert [each.event for each in spool.head(10, spool.last())] == [b"c", b"d", b"e"]


def test_what_was_confirmed_before_the_broker_went_away_is_counted() -> None:
    with BrokenBroker([CONFIRMED] * 503) as broker, connect(broker.url) as client:
        sender = Sender(client, 0)
        with pytest.raises(NotTaken, match="cannot be reached"):
            sender.send(list(simulate(600, 1, START)))
    assert sender.counts(600) == Counts(500, 0, 100)


def test_a_broker_that_stays_away_is_given_up_after_the_wait_and_said_once(clock: Clock) -> None:
    said: list[str] = []
    with connect(AWAY) as client:
        sender = Sender(client, 30, say=said.append)
        with pytest.raises(NotTaken, match="cannot be reached"):
            sender.send(list(simulate(3, 1, START)))
    assert sender.counts(3) == Counts(0, 0, 3)
    (line,) = said
    assert sum(clock.pauses) == pytest.approx(30)
    assert line.endswith("; trying again for up to 30 s")


def test_publish_itself_tries_once() -> None:
    with BrokenBroker([LOST, CONFIRMED]) as broker, connect(broker.url) as client:
        with pytest.raises(PublishError) as caught:
            publish(client, simulate(1, 1, START))
        assert len(broker.entries) == 1
    assert caught.value.may_pass
    assert isinstance(caught.value.__cause__, redis.ConnectionError)
