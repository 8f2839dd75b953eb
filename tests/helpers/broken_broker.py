"""A broker that misbehaves as it is told to: it speaks the protocol up to the scripted point."""

import socket
import threading
from io import BufferedRWPair
from pathlib import Path
from types import TracebackType
from typing import Self


class BrokenBroker:
    """Answers XADD with `replies` one after the other, then closes the connection or, if `frozen`, hangs.

    An empty reply is one that is lost: the connection is closed instead. `refusal` answers AUTH. What was
    sent is kept in `entries`, and how often it was connected to in `connections`.
    """

    def __init__(
        self,
        replies: list[bytes],
        *,
        frozen: bool = False,
        refusal: bytes = b"+OK\r\n",
        path: Path | None = None,
    ) -> None:
        self.entries: list[bytes] = []
        self.connections = 0
        self._replies = replies
        self._frozen = frozen
        self._refusal = refusal
        self._over = threading.Event()
        if path:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(path))
            self._listener.listen()
            self.url = f"unix://{path}"
        else:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.port: int = self._listener.getsockname()[1]
            self.url = f"redis://127.0.0.1:{self.port}/0"
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed: the test is over
                return
            self.connections += 1
            with connection, connection.makefile("rwb") as stream:
                try:
                    self._answer(stream)
                except OSError:  # the client went away
                    continue

    def _answer(self, stream: BufferedRWPair) -> None:
        while command := _command(stream):
            name = command[0].upper()
            if name != b"XADD":
                stream.write(self._refusal if name == b"AUTH" else b"+OK\r\n")
            elif self._replies:
                self.entries.append(command[-1])
                reply = self._replies.pop(0)
                if not reply:
                    stream.flush()
                    return
                stream.write(reply)
            elif self._frozen:
                self._over.wait(60)
                return
            else:
                stream.flush()
                return
            stream.flush()


def _command(stream: BufferedRWPair) -> list[bytes]:
    header = stream.readline()
    if not header:
        return []
    words = []
    for _ in range(int(header[1:])):
        length = int(stream.readline()[1:])
        words.append(stream.read(length + 2)[:-2])
    return words
