"""The running stream: alarms at a steady rate, each kept until the broker has confirmed it."""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from producers.events import AlarmEvent
from producers.queue import PublishError, connect, publish
from tests.chaos.events import Maker
from tests.helpers.support import eventually

AT_ONCE = 50
PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 0.2

Identity = tuple[str, str]


class Feeder:
    """A producer in a thread of its own. What it is told that arrived stands in `confirmed`."""

    def __init__(self, broker_url: str, maker: Maker, rate: float) -> None:
        self.confirmed: dict[Identity, AlarmEvent] = {}
        self.longest_call_seconds = 0.0
        self._url = broker_url
        self._maker = maker
        self._every_seconds = 1 / rate
        self._in_hand: deque[AlarmEvent] = deque()
        self._over, self._held = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)

    def __enter__(self) -> Self:
        self._held.set()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join(10)

    def start(self) -> None:
        self._held.clear()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Makes no alarms meanwhile; what it has in hand is confirmed first."""
        before = self._held.is_set()
        self._held.set()
        try:
            eventually(lambda: not self._in_hand, PATIENCE_SECONDS)
            yield
        finally:
            if not before:
                self._held.clear()

    def push(self, *events: AlarmEvent) -> None:
        """Beside the stream, from the caller's thread; returns when all are confirmed."""
        left = list(events)
        with contextlib.closing(connect(self._url)) as client:

            def confirmed() -> bool:
                del left[: self._send(client, left)]
                return not left

            eventually(confirmed, PATIENCE_SECONDS, PAUSE_SECONDS)

    def _run(self) -> None:
        due = time.time()
        with contextlib.closing(connect(self._url)) as client:
            while not self._over.is_set():
                while not self._held.is_set() and due <= time.time():
                    self._in_hand.append(self._maker.any(datetime.fromtimestamp(due, UTC)))
                    due += self._every_seconds
                if self._held.is_set():
                    due = time.time()
                for _ in range(self._send(client, list(self._in_hand)[:AT_ONCE])):
                    self._in_hand.popleft()
                if len(self._in_hand) < AT_ONCE:
                    self._over.wait(min(PAUSE_SECONDS, self._every_seconds))

    def _send(self, client: object, events: Sequence[AlarmEvent]) -> int:
        """How many of them were confirmed, the first ones."""
        began, count = time.monotonic(), len(events)
        try:
            publish(client, events)  # type: ignore[arg-type]
        except PublishError as error:
            count = error.confirmed
        self.longest_call_seconds = max(self.longest_call_seconds, time.monotonic() - began)
        self.confirmed |= {(event.source, event.event_id): event for event in events[:count]}
        return count
