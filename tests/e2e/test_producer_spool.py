"""alarm-producer with a spool, as processes that are killed, stopped and started beside each other."""

import ctypes
import json
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from producers.queue import STREAM
from producers.spool import Spool
from tests.helpers.producer_process import (
    COMMAND,
    Producer,
    ids_on_stream,
    recording,
    running,
    spooled,
)
from tests.helpers.servers import ValkeyServer
from tests.helpers.support import eventually

SEND = ("send", "--line", "交互屏组装A线", "--code", "E401")


@pytest.fixture
def producer(tmp_path: Path, broker_url: str) -> Producer:
    return Producer(tmp_path, broker_url)


@pytest.fixture
def away(tmp_path: Path) -> Producer:
    return Producer(tmp_path, "redis://:s3cret@127.0.0.1:1/0")


@pytest.fixture
def client(broker_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(broker_url) as client:
        yield client


def ids(events: list[str]) -> list[str]:
    return [json.loads(event)["event_id"] for event in events]


def test_a_batch_after_the_first_does_not_wait_for_the_broker(away: Producer) -> None:
    """It would take 30 times the wait, which is longer than a command may take here."""
    options = ("--count", "30", "--rate", "15", "--wait", "3", "--spool", "s")
    ended = away("simulate", *options)
    assert ended.returncode == 3
    assert "0 of 30 alarms confirmed, 30 kept in" in ended.stderr
    assert len(spooled(away.folder / "s")) == 30


def test_simulate_goes_on_through_an_outage_and_every_alarm_arrives_in_order(tmp_path: Path) -> None:
    with ValkeyServer() as server, redis.Redis.from_url(server.url) as client:
        producer = Producer(tmp_path, server.url)
        options = ("simulate", "--count", "120", "--rate", "40", "--spool", "s", "--wait", "60", "--json")
        with running(producer, *COMMAND, *options) as process:
            eventually(lambda: client.xlen(STREAM) > 10, 30)
            server.kill()
            eventually(lambda: len(spooled(tmp_path / "s")) > 20, 30)
            server.start()
            out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert json.loads(out).items() >= {"confirmed": 120, "spooled": 0, "not_taken": 0}.items()
        assert "alarms are kept in" in err
        assert "the broker takes alarms again" in err
        order = [json.loads(event)["event_id"] for event in wanted(producer, out)]
        assert ids_on_stream(client) == order


def wanted(producer: Producer, out: str) -> list[str]:
    """The same simulation again, into a spool."""
    summary = json.loads(out)
    same = ("--count", "120", "--seed", str(summary["seed"]), "--start", summary["start"], "--rate", "0")
    offline = Producer(producer.folder, "redis://127.0.0.1:1/0")
    assert offline("simulate", *same, "--spool", "again", "--wait", "0").returncode == 3
    return spooled(producer.folder / "again")


@pytest.mark.parametrize("with_spool", [False, True])
def test_ctrl_c_ends_the_wait_at_once_and_says_what_was_not_taken(away: Producer, with_spool: bool) -> None:
    options = ("--spool", "s") if with_spool else ()
    with running(away, *COMMAND, *SEND, "--wait", "3600", "--json", *options) as process:
        assert process.stderr
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert ("until it is back" if with_spool else "trying again for up to 3600 s") in first
    counts = {"confirmed": 0, "spooled": int(with_spool), "not_taken": int(not with_spool)}
    assert json.loads(out).items() >= counts.items()
    expected = (
        f"error: stopped; 0 of 1 alarms confirmed, 1 kept in {away.folder}/s. To send what is kept: "
        if with_spool
        else "error: stopped; 0 of 1 alarms confirmed, 1 not taken. To send the same events again is safe"
    )
    assert err.startswith(expected)


def test_an_alarm_outlasts_kill_9_in_the_wait(away: Producer) -> None:
    with running(away, *COMMAND, *SEND, "--id", "A-1", "--wait", "3600", "--spool", "s") as process:
        assert process.stderr
        assert "until it is back" in process.stderr.readline()
        process.kill()
    assert ids(spooled(away.folder / "s")) == ["A-1"]


def test_two_that_drain_at_once_send_each_event_once(producer: Producer, client: redis.Redis) -> None:
    events = recording(*({"event_id": str(number)} for number in range(3000))).decode().splitlines()
    with closing(Spool(str(producer.folder / "s"), 3000)) as spool:
        spool.append(events, "me")
    command = (*COMMAND, "drain", "--spool", "s", "--json")
    with running(producer, *command) as one, running(producer, *command) as other:
        outputs = [json.loads(process.communicate(timeout=60)[0]) for process in (one, other)]
    assert [one.returncode, other.returncode] == [0, 0]
    assert sum(output["confirmed"] for output in outputs) == client.xlen(STREAM) == 3000
    assert ids_on_stream(client) == [str(number) for number in range(3000)]


def test_many_that_send_at_once_while_the_broker_is_away_keep_every_alarm(away: Producer) -> None:
    with running(away, *COMMAND, *SEND, "--wait", "3600", "--spool", "s") as waiting:
        assert waiting.stderr
        assert "until it is back" in waiting.stderr.readline()
        command = (*COMMAND, *SEND, "--wait", "0", "--spool", "s", "--id")
        with (
            running(away, *command, "0") as one,
            running(away, *command, "1") as two,
            running(away, *command, "2") as three,
        ):
            assert [process.wait(60) for process in (one, two, three)] == [3, 3, 3]
    assert {"0", "1", "2"} < set(ids(spooled(away.folder / "s")))
    assert len(spooled(away.folder / "s")) == 4


def without_root_s_rights() -> None:
    """Root may write anywhere: give up CAP_DAC_OVERRIDE, from the next exec on."""
    if os.geteuid() == 0:
        drop_from_bounding_set, dac_override = 24, 1
        assert ctypes.CDLL(None).prctl(drop_from_bounding_set, dac_override) == 0


def test_a_folder_that_is_read_only_is_refused_before_anything_is_sent(
    producer: Producer, client: redis.Redis
) -> None:
    folder = producer.folder / "只读"
    folder.mkdir()
    folder.chmod(0o555)
    command = (*COMMAND, *SEND, "--spool", "只读/s")
    with running(producer, *command, harm=without_root_s_rights) as process:
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, "")
    why = "cannot be written: neither it nor its folder may be read-only; nothing was sent"
    assert err == f"error: --spool: {folder}/s {why}\n"
    assert client.xlen(STREAM) == 0


def test_a_disk_that_is_full_is_said_with_what_was_kept(away: Producer) -> None:
    def full_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    command = (
        *COMMAND,
        "simulate",
        "--count",
        "2000",
        "--rate",
        "0",
        "--spool",
        "s",
        "--wait",
        "0",
        "--json",
    )
    with running(away, *command, harm=full_disk) as process:
        out, err = process.communicate(timeout=60)
    summary = json.loads(out)
    assert process.returncode == 1
    assert summary["confirmed"] == 0
    assert summary["spooled"] + summary["not_taken"] == 2000
    assert summary["spooled"] == len(spooled(away.folder / "s"))
    assert "the broker cannot be reached" in err
    assert "/s cannot be used (disk I/O error); 0 of 2000 alarms confirmed" in err
    assert "The same again: alarm-producer simulate --count 2000 " in err
