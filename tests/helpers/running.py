"""What a worker runs in threads, an intake or a dispatcher, run by a test for as long as it looks on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Runs(Protocol):
    def run(self, stop: threading.Event) -> None: ...


@contextmanager
def running(*parts: Runs) -> Iterator[None]:
    stop = threading.Event()
    threads = [threading.Thread(target=part.run, args=(stop,)) for part in parts]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
