"""alarm-producer as a person or a script meets it: what it sends and what it prints."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from jsonschema import Draft202012Validator

from producers.events import AlarmEvent
from producers.queue import STREAM
from tests.helpers.producer_process import ASCII, COMMAND, ROOT, START, Producer, on_stream, recording
from tests.helpers.support import eventually


@pytest.mark.parametrize("command", [[], ["simulate"], ["send"], ["replay"], ["drain"], ["schema"]])
def test_help_answers_without_loading_what_is_heavy(tmp_path: Path, command: list[str]) -> None:
    program = """
import sys
from producers.cli import app
try:
    app([*sys.argv[1:], "--help"], prog_name="alarm-producer")
finally:
    print(*sys.modules, file=sys.stderr)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, *command],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.startswith("Usage: " + " ".join(["alarm-producer", *command]))
    loaded = set(ended.stderr.split())
    ours = {name for name in loaded if name.startswith("producers")}
    assert ours == {"producers", "producers.cli", "producers.terminal"}
    assert not {"redis", "rich", "pydantic_settings", "sqlite3"} & loaded


def test_simulate_sends_the_same_again_for_the_same_seed_and_start(
    producer: Producer, client: redis.Redis
) -> None:
    options = ("simulate", "--count", "60", "--rate", "0", "--seed", "3", "--start", START, "--json")
    first, second = (json.loads(producer(*options).stdout) for _ in range(2))
    entries = on_stream(client)
    events = list(entries.values())
    assert len(events) == 120
    assert events[:60] == events[60:]
    assert events[0].line_name == "交互屏组装A线"
    assert events[0].occurred_at.isoformat() == START
    assert list(entries) == sorted(entries, key=lambda each: tuple(map(int, each.split("-"))))
    assert first == {
        "confirmed": 60,
        "spooled": 0,
        "not_taken": 0,
        "active": sum(event.state == "active" for event in events[:60]),
        "cleared": sum(event.state == "cleared" for event in events[:60]),
        "lines": len({event.line_name for event in events}),
        "fault_codes": len({event.fault_code for event in events}),
        "source": "simulator",
        "seed": 3,
        "start": START,
        "stream": "alarms",
        "first_entry_id": next(iter(entries)),
        "last_entry_id": list(entries)[59],
    }
    assert second["first_entry_id"] == list(entries)[60]


def test_simulate_without_a_start_ends_now_and_says_how_to_repeat_it(
    producer: Producer, client: redis.Redis
) -> None:
    said = producer("simulate", "--count", "30", "--rate", "1000").stdout
    events = list(on_stream(client).values())
    (seconds, _) = client.time()
    assert abs(events[-1].occurred_at.timestamp() - seconds) < 30
    assert said.startswith("30 alarms confirmed: ")
    again = re.search(r"alarm-producer (simulate .*)\n", said)
    assert again
    assert producer(*again[1].split(), "--rate", "0").returncode == 0
    assert list(on_stream(client).values())[30:] == events


def test_simulate_keeps_its_rate(producer: Producer, client: redis.Redis) -> None:
    producer("simulate", "--count", "11", "--rate", "20")
    first, *_, last = (int(entry_id.split("-")[0]) for entry_id in on_stream(client))
    # The first may be late, as it waits for the connection; without a rate all are there within milliseconds.
    assert 250 <= last - first < 5_000, (
        "milliseconds between the first of 11 events and the last, at 20 a second"
    )


def test_simulate_nothing_sends_nothing(away: Producer) -> None:
    summary = json.loads(away("simulate", "--count", "0", "--json").stdout)
    assert (summary["confirmed"], summary["first_entry_id"]) == (0, None)


def test_a_bar_is_shown_to_a_person_and_to_nobody_else(producer: Producer) -> None:
    options = ["simulate", "--count", "5", "--rate", "0", "--json"]
    assert producer(*options).stderr == ""
    mine, theirs = pty.openpty()
    ended = subprocess.Popen(
        [*COMMAND, *options],
        cwd=producer.folder,
        env=producer.environment | {"TERM": "xterm", "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while chunk := read_or_nothing(mine):
        shown += chunk
    os.close(mine)
    out, _ = ended.communicate(timeout=30)
    assert json.loads(out)["confirmed"] == 5
    assert b"5/5" in shown


def read_or_nothing(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # how a terminal says that its other end was closed
        return b""


def test_simulate_that_is_interrupted_says_how_far_it_came(producer: Producer, client: redis.Redis) -> None:
    with subprocess.Popen(
        [*COMMAND, "simulate", "--count", "1000", "--rate", "5", "--seed", "9"],
        cwd=producer.folder,
        env=producer.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what runs in the background with the signal ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        eventually(lambda: client.xlen(STREAM) > 1, 30)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    told = re.fullmatch(
        r"error: stopped; (\d+) of 1000 alarms confirmed, (\d+) not taken\. .*--seed 9 --start \S+\n", err
    )
    assert told, err
    assert int(told[1]) + int(told[2]) == 1000
    assert client.xlen(STREAM) - int(told[1]) in (0, 1)  # one may have been on its way


def test_send_prints_what_it_sent(producer: Producer, client: redis.Redis) -> None:
    options = {
        "--line": "交互屏组装A线",
        "--code": "E401",
        "--equipment": "交互屏贴合机A1",
        "--equipment-class": "贴合机",
        "--message": "触摸屏通讯中断",
        "--severity": "700",
        "--state": "cleared",
        "--at": "2026-08-04T10:30:00+08:00",
        "--source": "班长台",
        "--id": "A-1",
    }
    ended = producer("send", *(word for option in options.items() for word in option), "--json")
    ((entry_id, event),) = on_stream(client).items()
    assert json.loads(ended.stdout) == {
        "event_id": "A-1",
        "source": "班长台",
        "entry_id": entry_id,
        "confirmed": 1,
        "spooled": 0,
        "not_taken": 0,
    }
    assert "班长台" in ended.stdout, "Chinese stays readable in JSON"
    assert event == AlarmEvent(
        event_id="A-1",
        source="班长台",
        line_name="交互屏组装A线",
        equipment="交互屏贴合机A1",
        equipment_class="贴合机",
        fault_code="E401",
        severity=700,
        state="cleared",
        message="触摸屏通讯中断",
        occurred_at="2026-08-04T02:30:00Z",
    )


def test_send_needs_a_line_and_a_code_and_makes_up_the_identity(
    producer: Producer, client: redis.Redis
) -> None:
    outputs = [producer("send", "--line", "A", "--code", "E1").stdout for _ in range(2)]
    entries = on_stream(client)
    first, second = entries.values()
    assert first.event_id != second.event_id
    assert (first.source, first.severity, first.state) == ("alarm-producer", 500, "active")
    (seconds, _) = client.time()
    assert abs(first.occurred_at.timestamp() - seconds) < 30
    for output, (entry_id, event) in zip(outputs, entries.items(), strict=True):
        assert output.split() == ["event_id", event.event_id, "source", event.source, "entry_id", entry_id]


def test_replay_sends_each_line_of_a_file(producer: Producer, client: redis.Redis) -> None:
    lines = recording({"event_id": "1"}, {"event_id": "2", "batch": "B7"})
    (producer.folder / "事件.jsonl").write_bytes(
        b"\xef\xbb\xbf\r\n".join([b"", lines]).replace(b"\n", b"\r\n")
    )
    (producer.folder / "events.jsonl").write_bytes(
        b"\n" + lines + b"  \n" + recording({"event_id": "3"})[:-1]
    )
    ended = producer("replay", "events.jsonl", "--json")
    entries = on_stream(client)
    assert json.loads(ended.stdout) == {
        "file": str(producer.folder / "events.jsonl"),
        "confirmed": 3,
        "spooled": 0,
        "not_taken": 0,
        "first_entry_id": next(iter(entries)),
        "last_entry_id": list(entries)[2],
    }
    assert [event.event_id for event in entries.values()] == ["1", "2", "3"]
    assert list(entries.values())[1].attributes == {"batch": "B7"}


def test_replay_takes_a_file_as_windows_writes_it(producer: Producer, client: redis.Redis) -> None:
    lines = recording({"event_id": "1"}, {"event_id": "2"})
    (producer.folder / "事件.jsonl").write_bytes(b"\xef\xbb\xbf" + lines.replace(b"\n", b"\r\n"))
    ended = producer("replay", "事件.jsonl", environment=ASCII)
    assert (
        ended.stdout == f"2 alarms of {producer.folder / '事件.jsonl'} confirmed\n" or "\\u" in ended.stdout
    )
    assert client.xlen(STREAM) == 2


def test_replay_reads_stdin(producer: Producer, client: redis.Redis) -> None:
    ended = producer("replay", "-", stdin=recording({}, {}))
    assert ended.stdout == "2 alarms of stdin confirmed\n"
    assert client.xlen(STREAM) == 2
    assert json.loads(producer("replay", "-", "--json").stdout)["confirmed"] == 0


def test_schema_prints_the_json_schema_of_an_event_in_any_locale(away: Producer) -> None:
    for locale in (None, ASCII):
        schema = json.loads(away("schema", environment=locale or {}).stdout)
        Draft202012Validator.check_schema(schema)
        assert schema == AlarmEvent.model_json_schema()


def test_a_locale_of_ascii_only_does_not_stop_chinese(producer: Producer) -> None:
    for encoding in ("ascii", "gbk"):
        ended = producer(
            *("send", "--line", "A", "--code", "E1", "--source", "班长台", "--json"),
            environment={"PYTHONIOENCODING": encoding},
        )
        assert json.loads(ended.stdout)["source"] == "班长台"
    ended = producer("simulate", "--help", environment=ASCII)
    assert "交互屏组装A线" in ended.stdout
