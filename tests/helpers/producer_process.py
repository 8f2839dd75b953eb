"""alarm-producer as a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import redis

from producers.events import AlarmEvent
from producers.queue import STREAM
from producers.spool import Spool
from tests.helpers.sample_events import GOOD

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "producers.cli"]
AWAY = "redis://:s3cret@127.0.0.1:1/0"
START = "2026-08-04T02:30:00+00:00"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


class Producer:
    """Runs alarm-producer in an empty folder against one broker."""

    def __init__(self, folder: Path, broker_url: str) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))},
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "error",
            "BROKER_URL": broker_url,
        }

    def __call__(
        self, *arguments: str | bytes, stdin: bytes = b"", environment: Mapping[str, str] = {}
    ) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env={**self.environment, **environment},
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        out, err = ended.stdout.decode(), ended.stderr.decode()
        assert "Traceback" not in err, err
        assert "s3cret" not in out + err
        return subprocess.CompletedProcess(ended.args, ended.returncode, out, err)

    def refuses(self, *arguments: str | bytes, code: int = 2, environment: Mapping[str, str] = {}) -> str:
        """The one line that the program says when it ends with this code."""
        ended = self(*arguments, environment=environment)
        assert (ended.returncode, ended.stdout) == (code, ""), ended.stderr
        usage, line = re.fullmatch(r"((?:Usage: .*\n(?:.*\n)*\n)?)(.+\n)", ended.stderr).groups()  # type: ignore[union-attr]
        assert line.startswith("Error: " if usage else "error: ")
        return str(line.strip())


def recording(*events: dict[str, Any]) -> bytes:
    return "".join(json.dumps(GOOD | event, ensure_ascii=False) + "\n" for event in events).encode()


def on_stream(client: redis.Redis) -> dict[str, AlarmEvent]:
    answer: Any = client.xrange(STREAM)
    return {entry_id.decode(): AlarmEvent.parse(fields[b"event"]) for entry_id, fields in answer}


def ids_on_stream(client: redis.Redis) -> list[str]:
    """The events' ids, each where it appeared first."""
    return list(dict.fromkeys(event.event_id for event in on_stream(client).values()))


def spooled(file: Path) -> list[str]:
    """The events in a spool."""
    with closing(Spool(str(file), 1_000_000, make=False)) as spool:
        return [each.event.decode() for each in spool.head(1_000_000, spool.last())]


@contextmanager
def running(
    producer: Producer, *command: str, harm: Callable[[], None] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process that the test ends; Ctrl-C reaches it as it reaches one in the foreground."""

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if harm:
            harm()

    with subprocess.Popen(
        [*command],
        cwd=producer.folder,
        env=producer.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,  # noqa: PLW1509
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
