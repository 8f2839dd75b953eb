"""The Valkey that a program owns: its data kept, its end certain."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from tests.helpers.processes import is_running
from tests.helpers.support import eventually
from worker.process.embedded import EmbeddedServerError, EmbeddedValkey

# A program that owns a server, says where it is, and waits. On Linux the kernel watches over it.
OWNER = """
import sys, time
from pathlib import Path
sys.platform = sys.argv[2]
from worker.process.embedded import EmbeddedValkey
with EmbeddedValkey(Path(sys.argv[1])) as valkey:
    print(valkey.process.pid, valkey.url, flush=True)
    time.sleep(600)
"""


class Owner:
    def __init__(self, folder: Path, platform: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(folder), platform], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        pid, self.url = self.process.stdout.readline().split()
        self.server = int(pid)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def owned_by(tmp_path: Path) -> Iterator[Callable[[str], Owner]]:
    """Another process that owns a server in the test's folder, on the platform that is named."""
    owners: list[Owner] = []

    def start(platform: str) -> Owner:
        owners.append(Owner(tmp_path, platform))
        return owners[-1]

    yield start
    for owner in owners:
        owner.kill()
        with contextlib.suppress(ProcessLookupError):
            os.kill(owner.server, signal.SIGKILL)


def test_it_keeps_its_data_on_disk_and_refuses_to_forget(tmp_path: Path) -> None:
    folder = tmp_path / "数据 of the line"
    with EmbeddedValkey(folder) as valkey, Redis.from_url(valkey.url) as client:
        client.xadd("alarms", {"event": "first"})
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("bind") == {"bind": "127.0.0.1"}
    with EmbeddedValkey(folder) as valkey, Redis.from_url(valkey.url) as client:
        assert client.xlen("alarms") == 1


def test_what_was_confirmed_outlives_a_kill_of_the_server(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as valkey, Redis.from_url(valkey.url) as client:
        for number in range(100):
            client.xadd("alarms", {"event": number})
        assert valkey.process is not None
        valkey.process.kill()
    with EmbeddedValkey(tmp_path) as valkey, Redis.from_url(valkey.url) as client:
        assert client.xlen("alarms") == 100


def test_its_end_is_waited_for(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as valkey:
        assert valkey.process is not None
        pid = valkey.process.pid
    assert not is_running(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_a_killed_owner_takes_its_server_along(owned_by: Callable[[str], Owner]) -> None:
    owner = owned_by("linux")
    assert is_running(owner.server)
    owner.kill()
    eventually(lambda: not is_running(owner.server), 10)


def test_a_folder_whose_owner_lives_is_left_alone(owned_by: Callable[[str], Owner], tmp_path: Path) -> None:
    owner = owned_by(sys.platform)
    with pytest.raises(EmbeddedServerError, match=f"in use by process {owner.process.pid}"):
        EmbeddedValkey(tmp_path).start()
    assert is_running(owner.server)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_server_that_outlived_its_owner_is_ended_and_its_data_taken_over(
    owned_by: Callable[[str], Owner], tmp_path: Path, frozen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.process.embedded.STOP_SECONDS", 1 if frozen else 10)
    owner = owned_by("darwin")
    with Redis.from_url(owner.url) as client:
        client.set("kept", "yes")
    owner.kill()
    assert is_running(owner.server)
    if frozen:
        os.kill(owner.server, signal.SIGSTOP)
    with EmbeddedValkey(tmp_path) as valkey, Redis.from_url(valkey.url) as client:
        assert not is_running(owner.server)
        assert client.get("kept") == b"yes"


def test_a_taken_port_is_said_with_the_servers_own_words(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path / "first") as first:
        second = EmbeddedValkey(tmp_path / "second", port=first.port)
        with pytest.raises(EmbeddedServerError, match="Address already in use"), second:
            pass
    assert second.process is None
