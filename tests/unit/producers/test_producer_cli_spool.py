"""alarm-producer's --spool, --wait and drain: exit codes, counts and words."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import redis
from typer.testing import CliRunner, Result

from producers.cli import app
from producers.queue import STREAM
from producers.spool import Spool
from tests.helpers.producer_process import AWAY, START, on_stream, recording

SEND = ("send", "--line", "交互屏组装A线", "--code", "E401")

Command = Callable[..., Result]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def calling(broker_url: str) -> Command:
    def call(*arguments: str) -> Result:
        ended = CliRunner().invoke(app, list(arguments), env={"BROKER_URL": broker_url})
        assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
        assert "s3cret" not in ended.output
        return ended

    return call


@pytest.fixture
def there(broker_url: str) -> Command:
    return calling(broker_url)


@pytest.fixture
def away() -> Command:
    return calling(AWAY)


def ids_in(file: Path) -> list[str]:
    with closing(Spool(str(file), 1, make=False)) as spool:
        return [json.loads(each.event)["event_id"] for each in spool.head(10_000, spool.last())]


def ids_on(client: redis.Redis) -> list[str]:
    return [event.event_id for event in on_stream(client).values()]


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ((*SEND, "--id", "A-1"), 1),
        (("simulate", "--count", "700", "--rate", "0", "--start", START), 700),
        (("replay", "事件.jsonl"), 3),
    ],
)
def test_what_is_not_confirmed_is_kept_with_exit_code_3_and_drained_with_0(
    away: Command, there: Command, client: redis.Redis, tmp_path: Path, command: tuple[str, ...], count: int
) -> None:
    file = tmp_path / "备用 报警.spool"
    (tmp_path / "事件.jsonl").write_bytes(recording(*({"event_id": str(number)} for number in range(3))))
    ended = away(*command, "--spool", file.name, "--wait", "0")
    assert (ended.exit_code, ended.stdout, ended.stderr.count("\n")) == (3, "", 1)
    assert ended.stderr.startswith("error: BROKER_URL redis://:***@127.0.0.1:1/0: the broker cannot be reach")
    assert ended.stderr.endswith(
        f"; 0 of {count} alarms confirmed, {count} kept in {file}. "
        f"To send what is kept: alarm-producer drain --spool '{file}'\n"
    )
    kept = ids_in(file)
    assert len(kept) == count
    ended = there("drain", "--spool", file.name, "--json")
    assert json.loads(ended.stdout) == {"spool": str(file), "confirmed": count, "left": 0}
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ids_on(client) == kept
    assert there("drain", "--spool", file.name).stdout == f"0 alarms of {file} confirmed\n"


def test_the_counts_are_in_the_json_whatever_the_end(away: Command, there: Command, tmp_path: Path) -> None:
    file = str(tmp_path / "s")
    (tmp_path / "e.jsonl").write_bytes(recording({"event_id": "1"}, {"event_id": "2"}, {"event_id": "3"}))
    command = ("replay", "e.jsonl", "--spool", "s", "--spool-max", "2", "--wait", "0", "--json")
    ended = away(*command)
    counts = {"confirmed": 0, "spooled": 2, "not_taken": 1, "spool": file, "drained": 0}
    assert json.loads(ended.stdout).items() >= counts.items()
    assert (ended.exit_code, ended.stderr.count("\n")) == (1, 1)
    assert "is full: it holds 2 events (--spool-max); 0 of 3 alarms confirmed, 2 kept in" in ended.stderr
    assert ended.stderr.endswith(
        ", 1 not taken. To send the same events again is safe, what arrived already makes no second alarm. "
        f"The same again: alarm-producer replay {tmp_path}/e.jsonl --spool {file}\n"
    )
    drained = away("drain", "--spool", "s", "--wait", "0", "--json")
    assert json.loads(drained.stdout) == {"spool": file, "confirmed": 0, "left": 2}
    assert drained.exit_code == 3
    assert f"0 alarms of {file} confirmed, 2 still in it. The same again: " in drained.stderr
    ended = there(*command)
    counts = {"confirmed": 3, "spooled": 0, "not_taken": 0, "spool": file, "drained": 2}
    assert json.loads(ended.stdout).items() >= counts.items()
    assert (ended.exit_code, ended.stderr) == (0, "")


def test_what_the_spool_held_before_is_told(away: Command, there: Command, tmp_path: Path) -> None:
    assert away(*SEND, "--spool", "s", "--wait", "0").exit_code == 3
    ended = there(*SEND, "--spool", "s")
    assert ended.exit_code == 0
    assert ended.stdout.splitlines()[-1] == f"1 alarms that {tmp_path}/s held were confirmed first"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*SEND, "--spool", "."), "error: --spool: {folder} is a folder; the spool wants to be a file"),
        ((*SEND, "--spool", ""), "error: --spool: {folder} is a folder"),
        ((*SEND, "--spool", "text.txt"), "error: --spool: {folder}/text.txt is no spool, and was left as it"),
        ((*SEND, "--spool", "无/s"), "error: --spool: there is no folder {folder}/无; nothing was sent"),
        (("drain", "--spool", "s"), "error: --spool: there is no spool {folder}/s; nothing was sent"),
        (("drain",), "Error: Missing option '--spool'."),
        ((*SEND, "--wait", "-1"), "Error: Invalid value for '--wait'"),
        ((*SEND, "--wait", "nan"), "Error: Invalid value for '--wait'"),
        ((*SEND, "--spool-max", "0"), "Error: Invalid value for '--spool-max'"),
    ],
)
def test_a_spool_or_a_wait_that_cannot_be_right_is_refused(
    there: Command, client: redis.Redis, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "text.txt").write_text("备忘\n" * 300)
    ended = there(*arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.splitlines()[-1].startswith(says.format(folder=tmp_path))
    assert client.xlen(STREAM) == 0
    assert not (tmp_path / "s").exists()


def test_a_damaged_spool_is_no_bad_input_and_nothing_is_sent_past_it(
    there: Command, client: redis.Redis, tmp_path: Path
) -> None:
    file = tmp_path / "s"
    with closing(Spool(str(file), 100)) as spool:
        spool.append(["x" * 400] * 100, "me")
    for begin in (8192, 100):  # behind its head, so that it opens, and all of it
        damaged = bytearray(file.read_bytes())
        damaged[begin:] = b"\xa7" * len(damaged[begin:])
        file.write_bytes(damaged)
        ended = there(*SEND, "--spool", "s", "--json")
        assert ended.exit_code == 1
        assert ended.stderr.startswith(f"error: {file} is damaged; nothing was removed from it.")
        assert "; 0 of 1 alarms confirmed, 1 not taken. " in ended.stderr
        assert json.loads(ended.stdout)["not_taken"] == 1
        ended = there("drain", "--spool", "s", "--json")
        assert (ended.exit_code, json.loads(ended.stdout)["left"]) == (1, None)
        assert ended.stderr.startswith(f"error: {file} is damaged")
        assert client.xlen(STREAM) == 0
        assert file.read_bytes() == damaged
