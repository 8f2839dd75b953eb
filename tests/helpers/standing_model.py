"""What stands of a plant's alarms, told in the plainest way: one event at a time, all of it in memory."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from db.queries.alarms.intake import NewAlarm
from db.queries.standing.floods import UNLIMITED_LASTS
from db.rules import Rules

ENDED = ("Completed", "Cancelled", "Closed")


@dataclass
class Stored:
    """An alarm and its place."""

    alarm: NewAlarm
    status: str
    leader: str | None = None
    order: str | None = None  # the status of the order that it opened

    @property
    def event(self) -> str:
        return self.alarm.event_id


@dataclass
class Fault:
    """A standing alarm."""

    name: tuple[str, str]
    leader: str
    severity: int
    occurrences: int
    first_at: datetime
    last_at: datetime
    cleared_at: datetime | None
    repeat_of: str | None
    closed_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        return self.closed_at is None


@dataclass
class Flood:
    line: str
    leader: str
    first_out: str
    started_at: datetime
    ended: bool = False


@dataclass
class Model:
    rules: Rules
    alarms: dict[str, Stored] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    floods: list[Flood] = field(default_factory=list)
    shelved_until: dict[tuple[str, str], datetime] = field(default_factory=dict)
    urgency: dict[str, int] = field(default_factory=dict)

    def take(self, alarm: NewAlarm, now: datetime) -> None:
        stored = self.alarms[alarm.event_id] = Stored(alarm, "waiting")
        if alarm.historical:
            stored.status = "stored"
        elif alarm.state == "cleared":
            stored.status = "stored"
            standing = self.standing(_name(alarm))
            if standing is not None and alarm.occurred_at >= standing.last_at:
                self._clear(standing, stored)
        elif (until := self.shelved_until.get(_name(alarm))) is not None and until > now:
            stored.status = "shelved"
        else:
            self.place(stored, now)

    def place(self, stored: Stored, now: datetime) -> None:
        alarm = stored.alarm
        standing = self.standing(_name(alarm))
        stored.status = "waiting"
        if standing is None:
            self._open(stored, now)
        else:
            self._join(stored, standing)

    def _open(self, stored: Stored, now: datetime) -> None:
        alarm, at = stored.alarm, stored.alarm.occurred_at
        leader = self._flood_leader(stored, now) or stored.event
        standing = Fault(
            _name(alarm), leader, alarm.severity, 1, at, at, None, self._last_order(_name(alarm), now)
        )
        self.faults.append(standing)
        raised = self._last_raised(_name(alarm))
        for clear in self._clears(_name(alarm)):
            if clear.alarm.occurred_at >= (at if clear.leader is None else max(at, raised)):
                self._clear(standing, clear)
        if leader != stored.event:
            stored.status, stored.leader = "attached", leader
        self._raise(leader, alarm.severity)

    def _join(self, stored: Stored, standing: Fault) -> None:
        at = stored.alarm.occurred_at
        standing.occurrences += 1
        standing.severity = max(standing.severity, stored.alarm.severity)
        standing.first_at, standing.last_at = min(standing.first_at, at), max(standing.last_at, at)
        if standing.cleared_at is not None and at > standing.cleared_at:
            standing.cleared_at = None
        stored.status, stored.leader = "attached", standing.leader
        self._raise(standing.leader, stored.alarm.severity)

    def _clear(self, standing: Fault, clear: Stored) -> None:
        at = clear.alarm.occurred_at
        standing.cleared_at = at if standing.cleared_at is None else max(standing.cleared_at, at)
        clear.leader = clear.leader or standing.leader

    def _raise(self, leader: str, severity: int) -> None:
        self.urgency[leader] = max(self.urgency.get(leader, 0), severity)

    def _flood_leader(self, stored: Stored, now: datetime) -> str | None:
        alarm, limit = stored.alarm, self.rules.flood_limit
        if limit is None or alarm.severity >= 800:
            return None
        around = [
            each
            for each in self.faults
            if each.name[0] == alarm.line_name and abs(each.first_at - alarm.occurred_at) < limit.window
        ]
        if len(around) < limit.alarms:
            return None
        for flood in self.floods:
            if flood.line == alarm.line_name and not flood.ended:
                return flood.leader
        first_out = min(around, key=lambda each: each.first_at).leader
        self.floods.append(Flood(alarm.line_name, stored.event, first_out, now))
        return None

    def _last_order(self, name: tuple[str, str], now: datetime) -> str | None:
        window = self.rules.repeat_window
        closed = [each for each in self.faults if each.name == name and each.closed_at is not None]
        recent = [each for each in closed if window and each.closed_at and each.closed_at >= now - window]
        return max(recent, key=lambda each: each.closed_at or now).leader if recent else None

    def settle(self, event: str) -> None:
        self.alarms[event].status, self.alarms[event].order = "settled", "Running"

    def end(self, event: str, status: str, now: datetime) -> None:
        self.alarms[event].order = status
        for standing in self.faults:
            if standing.leader == event and standing.is_open:
                standing.closed_at = now
        for flood in self.floods:
            if flood.leader == event:
                flood.ended = True

    def reopen(self, event: str) -> bool:
        own = [each for each in self.faults if each.leader == event]
        if any(self.standing(each.name) for each in own):
            return False
        self.alarms[event].order = "Running"
        for standing in own:
            standing.closed_at = None
            if standing.cleared_at is not None and standing.cleared_at < self._last_raised(standing.name):
                standing.cleared_at = None
            for clear in self._clears(standing.name):
                if clear.alarm.occurred_at >= max(standing.last_at, self._last_raised(standing.name)):
                    self._clear(standing, clear)
        return True

    def release(self, now: datetime) -> None:
        for name, until in list(self.shelved_until.items()):
            if until > now:
                continue
            del self.shelved_until[name]
            kept = [
                each
                for each in self.alarms.values()
                if each.status == "shelved" and _name(each.alarm) == name
            ]
            kept.sort(key=lambda each: each.alarm.occurred_at)
            came = list(self.alarms.values()).index
            if kept and not any(
                (clear.alarm.occurred_at, came(clear)) > (kept[-1].alarm.occurred_at, came(kept[-1]))
                for clear in self._clears(name)
            ):
                self.place(kept[-1], now)
                standing = self.standing(name)
                assert standing is not None
                for older in kept[:-1]:
                    self._join(older, standing)

    def end_floods(self, now: datetime) -> None:
        limit = self.rules.flood_limit
        for flood in self.floods:
            if limit is None:
                flood.ended |= flood.started_at <= now - UNLIMITED_LASTS
                continue
            if flood.started_at > now - limit.window:
                continue
            recent = [
                each
                for each in self.faults
                if each.name[0] == flood.line and now - limit.window < each.first_at <= now
            ]
            if len(recent) < limit.alarms:
                flood.ended = True

    def standing(self, name: tuple[str, str]) -> Fault | None:
        return next((each for each in self.faults if each.name == name and each.is_open), None)

    def _last_raised(self, name: tuple[str, str]) -> datetime:
        return max(
            each.alarm.occurred_at
            for each in self.alarms.values()
            if each.alarm.state == "active" and not each.alarm.historical and _name(each.alarm) == name
        )

    def _clears(self, name: tuple[str, str]) -> list[Stored]:
        return [
            each
            for each in self.alarms.values()
            if each.alarm.state == "cleared" and not each.alarm.historical and _name(each.alarm) == name
        ]


def _name(alarm: NewAlarm) -> tuple[str, str]:
    return alarm.line_name, alarm.equipment


def soon(moment: datetime, minutes: float) -> datetime:
    return moment + timedelta(minutes=minutes)
