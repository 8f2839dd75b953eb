"""A broker and a database that are reached by TLS and a password alone, behind certificates good and bad."""

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import kombu.exceptions
import pytest
import redis
from sqlalchemy.exc import OperationalError

from producers.queue import STREAM
from tests.helpers.scram import scram_role
from tests.helpers.servers import PostgresServer, ValkeyServer
from tests.helpers.tls import Authority, TlsFront

PASSWORD = "S3CRET@:/%?#+ 中文"
USER = "plant"
EDGE = "edge"
"""May add to the stream, and nothing else."""
UNKNOWN = "certificate verify failed: unable to get local issuer certificate"
REFUSED = {"stranger": UNKNOWN, "wrong name": "certificate verify failed: Hostname mismatch"}
"""The certificates that are not good, and what a client of the broker says of them."""


@dataclass
class Guarded:
    """The addresses of a server, by the certificate that it shows there."""

    authority: Path
    fronts: Mapping[str, TlsFront]

    def broker_url(
        self, front: str = "good", user: str = USER, password: str = PASSWORD, options: str = ""
    ) -> str:
        login = f"{user}:{quote(password, safe='')}"
        return (
            f"rediss://{login}@localhost:{self.fronts[front].port}/0?ssl_ca_certs={self.authority}{options}"
        )

    def database_url(self, front: str = "good", password: str = PASSWORD) -> str:
        login, port = f"{USER}:{quote(password, safe='')}", self.fronts[front].port
        options = f"sslmode=verify-full&sslrootcert={self.authority}"
        return f"postgresql://{login}@localhost:{port}/{USER}?{options}"


@dataclass
class Certificates:
    """Of localhost by an authority that is trusted, by one that is not, and of somebody else."""

    authority: Path
    files: Mapping[str, Path]

    @classmethod
    def make(cls, folder: Path) -> "Certificates":
        ours, strangers = Authority(folder / "ours"), Authority(folder / "strangers")
        files = {
            "good": ours.issue("localhost"),
            "stranger": strangers.issue("localhost"),
            "wrong name": ours.issue("elsewhere.example"),
        }
        return cls(ours.file, files)


@contextmanager
def guarded_broker(certificates: Certificates) -> Iterator[Guarded]:
    with ValkeyServer() as server, ExitStack() as stack:
        with redis.Redis.from_url(server.url) as client:
            for user, rights in ((USER, ("~*", "&*", "+@all")), (EDGE, (f"~{STREAM}", "-@all", "+xadd"))):
                client.execute_command("ACL", "SETUSER", user, "on", f">{PASSWORD}", *rights)
            client.config_set("requirepass", "of-the-default-user")
        fronts = {name: TlsFront(file, server.port) for name, file in certificates.files.items()}
        entered = {name: stack.enter_context(front) for name, front in fronts.items()}
        yield Guarded(certificates.authority, entered)


@contextmanager
def guarded_database(postgres: PostgresServer, certificates: Certificates) -> Iterator[Guarded]:
    """With one more front, which has no TLS."""
    socket = postgres.folder / "s" / ".s.PGSQL.5432"
    shown = {**certificates.files, "without TLS": None}
    with scram_role(postgres, USER, PASSWORD), ExitStack() as stack:
        fronts = {name: TlsFront(file, socket, postgres=True) for name, file in shown.items()}
        entered = {name: stack.enter_context(front) for name, front in fronts.items()}
        yield Guarded(certificates.authority, entered)


def fault(check: Callable[[], object]) -> str:
    """What is said of the failure, all the way down; it may not hold the password."""
    with pytest.raises((redis.RedisError, kombu.exceptions.OperationalError, OperationalError)) as caught:
        check()
    said = "".join(traceback.format_exception(caught.value))
    assert "S3CRET" not in said
    return said
