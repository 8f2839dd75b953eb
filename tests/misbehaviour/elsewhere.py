"""The misbehaving endpoint in a process of its own, where it costs a worker under test no time."""

import json
import subprocess
import sys
from collections import Counter
from typing import Any, Self
from urllib.request import urlopen

from tests.helpers.endpoint import Endpoint
from tests.helpers.processes import ROOT
from tests.misbehaviour import ALL


class Elsewhere:
    """As an Endpoint with every misbehaviour; what it counted is asked of the other process."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.misbehaviour.elsewhere"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        assert self.url, "the endpoint did not start"
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exc: object) -> None:
        try:
            complaints = self._account()["complaints"]
        finally:
            self._process.communicate(timeout=20)  # the end of its input is the end of it
        assert kind is not None or not complaints, "\n".join(complaints[:20])

    @property
    def requests(self) -> Counter[str]:
        return Counter(self._account()["requests"])

    def _account(self) -> dict[str, Any]:
        with urlopen(f"{self.url}/account", timeout=20) as answer:
            account: dict[str, Any] = json.load(answer)
            return account


if __name__ == "__main__":
    with Endpoint(ALL) as endpoint:
        print(endpoint.url, flush=True)  # noqa: T201
        sys.stdin.read()
        endpoint.complaints.clear()  # told before
