"""A throw-away certificate authority, and TLS before the tests' plain servers, which have none themselves."""

import asyncio
import contextlib
import shutil
import ssl
import subprocess
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import pytest

T = TypeVar("T")

OPENSSL = shutil.which("openssl")
needs_openssl = pytest.mark.skipif(
    OPENSSL is None, reason="the command openssl makes the certificates: install it"
)

_AUTHORITY = """
[req]
distinguished_name = name
x509_extensions = authority
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
"""
_SSL_REQUEST, _GSS_REQUEST = 80877103, 80877104


class Authority:
    """Its certificate is in `file`; what it issues is valid for two days."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self.file = folder / "ca.pem"
        config = folder / "ca.cnf"
        config.write_text(_AUTHORITY)
        subject = ("-subj", f"/CN=authority {folder.name}", "-config", str(config))
        self._openssl(
            "req", "-x509", *self._new_key("ca.key"), *subject, "-days", "2", "-out", str(self.file)
        )

    def issue(self, *hosts: str) -> Path:
        """A file with a certificate for these names, and its key."""
        name = hosts[0]
        request, certificate, key = (self._folder / f"{name}.{kind}" for kind in ("csr", "crt", "key"))
        extensions = self._folder / f"{name}.ext"
        addresses = ", ".join(f"IP:{host}" if host[0].isdigit() else f"DNS:{host}" for host in hosts)
        extensions.write_text(f"subjectAltName = {addresses}\nauthorityKeyIdentifier = keyid\n")
        config = ("-config", str(self._folder / "ca.cnf"))
        self._openssl(
            "req", "-new", *self._new_key(key.name), "-subj", f"/CN={name}", *config, "-out", str(request)
        )
        signed = (
            "-CA",
            str(self.file),
            "-CAkey",
            str(self._folder / "ca.key"),
            "-set_serial",
            str(len(name)),
        )
        self._openssl(
            "x509",
            "-req",
            "-in",
            str(request),
            *signed,
            "-days",
            "2",
            "-extfile",
            str(extensions),
            "-out",
            str(certificate),
        )
        both = self._folder / f"{name}.pem"
        both.write_text(certificate.read_text() + key.read_text())
        return both

    def _new_key(self, name: str) -> tuple[str, ...]:
        kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        return (*kind, "-keyout", str(self._folder / name))

    def _openssl(self, *words: str) -> None:
        assert OPENSSL is not None
        done = subprocess.run([OPENSSL, *words], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


class TlsFront:
    """Takes the TLS off what comes to its port, and hands the rest on to a server: to a port or a socket.

    With `postgres` it waits for PostgreSQL's own request for TLS first; with no certificate it refuses that
    request as a server without TLS does.
    """

    def __init__(self, certificate: Path | None, server: int | Path, postgres: bool = False) -> None:
        self._server = server
        self._postgres = postgres
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _loop, _context: None)  # a client that refuses is no fault
        self._thread = threading.Thread(target=self._loop.run_forever, name="TLS")
        self.connections = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._listening = self._call(self._listen())
        self.port: int = self._listening.sockets[0].getsockname()[1]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _listen(self) -> asyncio.Server:
        tls = None if self._postgres else self._tls
        return await asyncio.start_server(self._take, "127.0.0.1", 0, ssl=tls)

    async def _end(self) -> None:
        self._listening.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
            if self._postgres and not await self._asked_for_tls(reader, writer):
                return
            self.connections += 1
            if isinstance(self._server, Path):
                from_server, to_server = await asyncio.open_unix_connection(str(self._server))
            else:
                from_server, to_server = await asyncio.open_connection("127.0.0.1", self._server)
            with contextlib.closing(to_server):
                await asyncio.wait(
                    [
                        asyncio.ensure_future(_pump(reader, to_server)),
                        asyncio.ensure_future(_pump(from_server, writer)),
                    ],
                    return_when=asyncio.FIRST_COMPLETED,
                )

    async def _asked_for_tls(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        while (asked := int.from_bytes((await reader.readexactly(8))[4:])) == _GSS_REQUEST:
            writer.write(b"N")
        if asked != _SSL_REQUEST or self._tls is None:
            writer.write(b"N")
            return False
        writer.write(b"S")
        await writer.drain()
        await writer.start_tls(self._tls)
        return True


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
