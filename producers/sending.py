"""Sending: events to the broker in their order, through the spool as soon as it does not take them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple
from uuid import uuid4

import redis
from redis.backoff import EqualJitterBackoff

from producers.events import AlarmEvent, ProducerError
from producers.patience import patiently
from producers.queue import PublishError, publish_json
from producers.spool import Spool, SpooledEvent, SpoolError

_CHUNK = 500
_LONGEST_PAUSE_SECONDS = 15.0


class NotTaken(ProducerError):
    """Raised when the broker did not take the events, and no spool could."""


class Counts(NamedTuple):
    """What became of the events given: confirmed by the broker, or in the spool, or neither."""

    confirmed: int
    spooled: int
    not_taken: int


class Sender:
    """Sends events; with a spool, what the broker does not take at once is first of all made safe on disk.

    From then on the broker gets events from the spool alone, the oldest first, until it is empty. Without a
    spool it is tried again in place for `wait_seconds`. `say` hears when the broker is found away or back.
    """

    def __init__(
        self,
        client: redis.Redis,
        wait_seconds: float,
        spool: Spool | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.first_entry_id: str | None = None
        self.last_entry_id: str | None = None
        self.drained = 0
        """Confirmed events that were not given to this sender: the spool held them already."""
        self.trouble = ""
        """Why the broker took nothing when it was tried last; empty when it did."""
        self._client = client
        self._wait_seconds = wait_seconds
        self._spool = spool
        self._say = say
        self._said_away = False
        self._me = uuid4().hex
        self._published = self._appended = self._drained_mine = 0
        self._up_to = 0  # the last number in the spool that concerns us
        self._pauses = EqualJitterBackoff(cap=_LONGEST_PAUSE_SECONDS, base=0.5)
        self._failures, self._try_at = 0, 0.0

    def send(self, events: Sequence[AlarmEvent]) -> None:
        """Returns when each event is confirmed or in the spool; else raises NotTaken or SpoolError."""
        rest = [event.to_json() for event in events]
        if self._spool is None:
            self._publish_patiently(rest)
            return
        failure = None
        if not self._spool.last():
            try:
                self._publish(rest)
            except PublishError as error:
                failure = error
            else:
                return
        why_not_all = self._keep(self._spool, rest)
        if failure:
            self._tell(failure)  # not before: by then the events are kept
        if rest:
            self._publish_patiently(rest, why_not_all)
        elif time.monotonic() >= self._try_at:
            with suppress(PublishError):
                self._drain(self._spool)

    def finish(self) -> None:
        """Waits for the broker to take what of ours is in the spool; what it does not take stays there."""
        if self._spool is not None and self._wait_seconds:
            self._drain_patiently(self._spool)

    def drain(self) -> None:
        """Sends what is in the spool now; what the broker does not take stays there."""
        if self._spool is not None:
            self._up_to = self._spool.last()
            self._drain_patiently(self._spool)

    def left(self) -> int | None:
        """How many events the spool holds; None when it cannot be read."""
        with suppress(SpoolError):
            return 0 if self._spool is None else self._spool.count()
        return None

    def counts(self, given: int) -> Counts:
        spooled = self._appended - self._drained_mine
        if self._spool is not None:
            with suppress(SpoolError):  # then what we remember has to do
                spooled = self._spool.count(self._me)
        drained_by_others = max(0, self._appended - self._drained_mine - spooled)
        confirmed = self._published + self._drained_mine + drained_by_others
        return Counts(confirmed, spooled, given - confirmed - spooled)

    def _publish_patiently(self, rest: list[str], why_no_spool: str = "") -> None:
        def attempt() -> None:
            if self._spool is not None:
                self._up_to = self._spool.last()
                self._drain(self._spool)
            self._publish(rest)

        try:
            patiently(attempt, self._wait_seconds, self._tell)
        except PublishError as error:
            raise NotTaken("; ".join(filter(None, (error.cause, why_no_spool)))) from error

    def _drain_patiently(self, spool: Spool) -> None:
        with suppress(PublishError):
            patiently(lambda: self._drain(spool), self._wait_seconds, self._tell)

    def _publish(self, rest: list[str]) -> None:
        """Takes from `rest` what the broker confirms."""
        with self._outcome_noted():
            try:
                entry_ids = publish_json(self._client, rest)
            except PublishError as error:
                self._published += error.confirmed
                self._note(error.entry_ids)
                del rest[: error.confirmed]
                raise
        self._published += len(entry_ids)
        self._note(entry_ids)
        rest.clear()

    def _keep(self, spool: Spool, rest: list[str]) -> str:
        """Takes from `rest` what the spool takes, and says why it would not take more."""
        try:
            taken, self._up_to = spool.append(rest, self._me)
        except SpoolError as error:
            return str(error)
        self._appended += taken
        del rest[:taken]
        return f"the spool {spool.name} is full: it holds {spool.most} events (--spool-max)"

    def _drain(self, spool: Spool) -> None:
        """Sends from the spool what concerns us, and all before it; raises PublishError."""
        if not spool.head(1, self._up_to):
            self.trouble = ""  # another process may have been at it
            return
        confirmed: list[str] = []
        with self._outcome_noted(), spool.draining() as free:
            if not free:
                raise PublishError([], f"{spool.drainer()} is sending what is in {spool.name}")
            while events := spool.head(_CHUNK, self._up_to):
                try:
                    entry_ids = publish_json(self._client, [each.event for each in events])
                except PublishError as error:
                    self._remove(spool, events, error.entry_ids)
                    raise PublishError(confirmed + error.entry_ids, error.cause, error.may_pass) from error
                self._remove(spool, events, entry_ids)
                confirmed += entry_ids

    def _remove(self, spool: Spool, events: list[SpooledEvent], entry_ids: list[str]) -> None:
        """Removes the first of the events, those that the broker gave entry ids to."""
        if not entry_ids:
            return
        spool.remove(events[: len(entry_ids)])
        confirmed = zip(events, entry_ids, strict=False)
        mine = [entry_id for event, entry_id in confirmed if event.sender == self._me]
        self._drained_mine += len(mine)
        self.drained += len(entry_ids) - len(mine)
        self._note(mine)

    def _note(self, entry_ids: list[str]) -> None:
        if entry_ids:
            self.first_entry_id = self.first_entry_id or entry_ids[0]
            self.last_entry_id = entry_ids[-1]

    @contextmanager
    def _outcome_noted(self) -> Iterator[None]:
        try:
            yield
        except PublishError as error:
            self.trouble = error.cause
            self._failures += 1
            self._try_at = time.monotonic() + self._pauses.compute(self._failures)
            raise
        self.trouble, self._failures, self._try_at = "", 0, 0.0
        if self._said_away:
            self._said_away = False
            self._say("the broker takes alarms again")

    def _tell(self, error: PublishError) -> None:
        if self._said_away or not (self._wait_seconds and error.may_pass):
            return
        self._said_away = True
        until = f"trying again for up to {self._wait_seconds:g} s"
        if self._spool is not None and self._appended:
            until = f"alarms are kept in {self._spool.name} until it is back"
        self._say(f"{error.cause}; {until}")
