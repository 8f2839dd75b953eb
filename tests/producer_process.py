"""alarm-producer as a process of its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import redis

from producers.events import AlarmEvent
from producers.queue import STREAM
from tests.sample_events import GOOD

ROOT = Path(__file__).parents[1]
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
        assert not usage or line.startswith("Error: ")
        return str(line.strip())


def recording(*events: dict[str, Any]) -> bytes:
    return "".join(json.dumps(GOOD | event, ensure_ascii=False) + "\n" for event in events).encode()


def on_stream(client: redis.Redis) -> dict[str, AlarmEvent]:
    answer: Any = client.xrange(STREAM)
    return {entry_id.decode(): AlarmEvent.parse(fields[b"event"]) for entry_id, fields in answer}
