"""alarm-producer given bad input, a bad setting or no broker: one line, the right exit code, nothing sent."""

import json
import re
from pathlib import Path

import pytest
import redis

from producers.queue import STREAM
from tests.helpers.broken_broker import BrokenBroker
from tests.helpers.producer_process import START, Producer, recording
from tests.helpers.sample_events import GOOD


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "--count", "1", "--start", START, "--wait", "0"],
        ["send", "--line", "A", "--code", "E1", "--wait", "0"],
        ["replay", "events.jsonl", "--wait", "0"],
    ],
)
def test_a_broker_that_is_away_is_one_line_that_names_it(away: Producer, arguments: list[str]) -> None:
    (away.folder / "events.jsonl").write_text(json.dumps(GOOD))
    line = away.refuses(*arguments, code=1)
    assert line.startswith("error: BROKER_URL redis://:***@127.0.0.1:1/0: the broker cannot be reached")
    assert "0 of 1 alarms confirmed, 1 not taken" in line
    assert "send the same events again is safe" in line


def test_a_broker_lost_half_way_is_told_with_what_it_confirmed(tmp_path: Path) -> None:
    with BrokenBroker([b"$3\r\n1-1\r\n"] * 503) as broker:
        line = Producer(tmp_path, broker.url).refuses(
            "simulate", "--count", "600", "--rate", "0", "--start", START, "--wait", "0", code=1
        )
    assert "500 of 600 alarms confirmed, 100 not taken" in line
    assert line.endswith(f"The same again: alarm-producer simulate --count 600 --seed 1 --start {START}")


def test_send_that_was_not_confirmed_says_the_identity_and_the_moment_to_send_again(away: Producer) -> None:
    line = away.refuses(
        "send", "--line", "A", "--code", "E1", "--source", "shift desk", "--wait", "0", code=1
    )
    assert re.search(r"--source 'shift desk' --id [0-9a-f-]{36} --at \S+\+00:00$", line)


@pytest.mark.parametrize(
    ("url", "wants"),
    [
        ("http://x", "redis://HOST:PORT/DB"),
        ("http://user:s3cret@x", "redis://HOST:PORT/DB"),
        ("redis://:s3cret@valkey/name", "DB is a number"),
    ],
)
@pytest.mark.parametrize(
    "arguments", [["simulate"], ["send", "--line", "A", "--code", "E1"], ["replay", "-"]]
)
def test_a_broker_url_that_cannot_be_right_stops_the_program(
    away: Producer, arguments: list[str], url: str, wants: str
) -> None:
    line = away.refuses(*arguments, environment={"BROKER_URL": url})
    assert line.startswith("error: BROKER_URL: wants ")
    assert wants in line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--line", "A"], "Error: Missing option '--code'."),
        (["--line", "", "--code", "E1"], "--line: wants text that is not blank"),
        (["--line", "\u3000", "--code", " "], "--line: wants text that is not blank; --code: wants text"),
        (["--line", "A", "--code", "E1", "--at", "2026-08-04T10:30:00"], "--at: wants its offset from UTC"),
        (["--line", "A", "--code", "E1", "--at", "soon"], "--at: wants a date and time"),
        (["--line", "A", "--code", "E1", "--at", "0001-01-01T00:00:00+14:00"], "--at: wants a year"),
        (["--line", "A", "--code", "E1", "--severity", "1001"], "--severity: wants a whole number"),
        (["--line", "A", "--code", "E1", "--severity", "high"], "Error: Invalid value for '--severity'"),
        (["--line", "A", "--code", "E1", "--state", "on"], "--state: wants 'active' or 'cleared'"),
        (["--line", "A", "--code", "E1", "--id", ""], "--id: wants text that is not blank"),
        (["--line", "x" * 201, "--code", "E1"], "--line: wants at most 200 characters"),
        ([b"--line", b"\xff\xfe", b"--code", b"E1"], "--line: holds half of a surrogate pair"),
        (
            ["--line", "A", "--code", "E1", "--message", "x" * 70_000],
            " bytes, and an event has at most 65536",
        ),
    ],
)
def test_send_refuses_bad_input_by_the_options_name(
    away: Producer, arguments: list[str | bytes], says: str
) -> None:
    assert says in away.refuses("send", *arguments)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rate", "-1"], "Error: Invalid value for '--rate'"),
        (["--rate", "nan"], "--rate"),
        (["--rate", "inf"], "--rate: wants a number"),
        (["--count", "-1"], "Error: Invalid value for '--count'"),
        (["--count", "many"], "Error: Invalid value for '--count'"),
        (["--seed", "x"], "Error: Invalid value for '--seed'"),
        (["--start", "2026-08-04"], "--start: wants its offset from UTC"),
        (["--start", ""], "--start: wants a date and time"),
        (["--start", "2199-12-31T23:59:59Z"], "--start: wants a year from 1970 to 2199"),
    ],
)
def test_simulate_refuses_bad_input_by_the_options_name(
    away: Producer, arguments: list[str], says: str
) -> None:
    assert says in away.refuses("simulate", *arguments)


def test_replay_sends_nothing_when_one_line_is_bad_and_names_each_bad_line(
    producer: Producer, client: redis.Redis
) -> None:
    file = producer.folder / "events.jsonl"
    good = recording({})
    bad = [
        b"nope\n",
        b"[1]\n",
        recording({"occurred_at": "2026-08-04T10:30:00"}),
        b"\xff\xfe\n",
        b'{"a": "' + b"x" * 1024 * 1024 + b'"}\n',
        recording({})[:-1] + b" " * 70_000 + b"and more\n",
        recording({"message": "a\0b"}),
        rb'{"event_id": "\ud800"}' + b"\n",
        b"[" * 60_000 + b"\n",
    ]
    file.write_bytes(b"\n".join([good[:-1], b"", *(line[:-1] for line in bad), good]))
    ended = producer("replay", "events.jsonl")
    assert (ended.returncode, ended.stdout) == (2, "")
    found, *complaints = ended.stderr.splitlines()
    assert [line.split(": ")[0] for line in complaints] == [f"{file}:{number}" for number in range(3, 12)]
    assert "occurred_at: wants its offset" in complaints[2]
    assert found == f"error: {file} has lines that are no events; nothing was sent"
    assert client.xlen(STREAM) == 0


def test_replay_does_not_complain_without_end(away: Producer) -> None:
    ended = away("replay", "-", stdin=b"nope\n" * 10_000)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 22


@pytest.mark.parametrize(("name", "why"), [("missing.jsonl", "No such file"), (".", "Is a directory")])
def test_replay_of_what_is_no_file_names_it_in_full(away: Producer, name: str, why: str) -> None:
    line = away.refuses("replay", name)
    assert line.startswith(f"error: {away.folder / name}: {why}")


def test_an_unknown_command_is_refused(away: Producer) -> None:
    assert away.refuses("sing").startswith("Error: No such command 'sing'")
