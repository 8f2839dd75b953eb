"""What stands behind an order: how often its faults occurred, whether they are cleared, and the flood."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from db.codes import fingerprint
from db.models import Alarm, Flood, StandingAlarm, WorkOrder

OCCURRENCE_FIELDS = (
    "fingerprint",
    "occurrences",
    "first_at",
    "last_at",
    "cleared_at",
    "repeat_of",
    "flood",
    "alarms",
)
"""What an order has of its standing alarms; `alarms` has one row for each equipment and code."""
ROW_FIELDS = (
    "fingerprint",
    "equipment",
    "fault_code",
    "native_code",
    "severity",
    "occurrences",
    "first_at",
    "last_at",
    "cleared_at",
)

_CHUNK = 500


class _Standing(NamedTuple):
    row: dict[str, Any]
    repeat_of: str | None


def occurrences(session: Session, orders: Sequence[WorkOrder]) -> dict[int, dict[str, Any]]:
    """The OCCURRENCE_FIELDS of each order, by its row's id; three statements, however many orders.

    An order that was made before standing alarms were kept has one row all the same: its own alarm, once.
    """
    found: dict[int, dict[str, Any]] = {}
    for start in range(0, len(orders), _CHUNK):
        some = orders[start : start + _CHUNK]
        leaders = _leaders(session, some)
        ids = [leader_id for leader_id, _ in leaders.values()]
        standing, floods = _standing(session, ids), _floods(session, ids)
        for order in some:
            leader_id, own = leaders.get(order.id) or _without_alarm(order)
            found[order.id] = _summed(order, own, standing[leader_id], floods.get(leader_id))
    return found


def _summed(
    order: WorkOrder, own: str, standing: list[_Standing], flood: dict[str, Any] | None
) -> dict[str, Any]:
    rows = [each.row for each in standing]
    if all(row["fingerprint"] != own for row in rows):
        rows.insert(0, _opening_row(order, own))
    repeats = (each.repeat_of for each in standing if each.row["fingerprint"] == own)
    return {
        "fingerprint": own,
        "occurrences": sum(row["occurrences"] for row in rows),
        "first_at": min(row["first_at"] for row in rows),
        "last_at": max(row["last_at"] for row in rows),
        "cleared_at": _cleared(row["cleared_at"] for row in rows),
        "repeat_of": next(repeats, None),
        "flood": flood,
        "alarms": rows,
    }


def _cleared(moments: Iterable[datetime | None]) -> datetime | None:
    """When the last of them was cleared; None while one is not."""
    known = list(moments)
    cleared = [moment for moment in known if moment is not None]
    return max(cleared) if len(cleared) == len(known) else None


def _opening_row(order: WorkOrder, own: str) -> dict[str, Any]:
    at = order.occurred_at
    once = {"fingerprint": own, "occurrences": 1, "first_at": at, "last_at": at, "cleared_at": None}
    return _row(order, once)


def _leaders(session: Session, orders: Iterable[WorkOrder]) -> dict[int, tuple[int, str]]:
    """The alarm that opened each order, and its fingerprint, by the order's id."""
    opened = select(Alarm.work_order_id, Alarm.id, Alarm.fingerprint)
    rows = session.execute(opened.where(Alarm.work_order_id.in_([order.id for order in orders])))
    return {order_id: (alarm_id, own) for order_id, alarm_id, own in rows if order_id is not None}


def _without_alarm(order: WorkOrder) -> tuple[int, str]:
    """We make no such order; it is shown all the same."""
    return 0, fingerprint(order.line_name, order.equipment, order.native_code)


def _standing(session: Session, leader_ids: Sequence[int]) -> defaultdict[int, list[_Standing]]:
    """Of each leader its standing alarms, the first one on top, and the order that each is a repeat of."""
    query = (
        select(StandingAlarm, WorkOrder.order_id)
        .outerjoin(WorkOrder, WorkOrder.id == StandingAlarm.repeat_of)
        .where(StandingAlarm.leader_id.in_(leader_ids))
        .order_by(StandingAlarm.first_at, StandingAlarm.id)
    )
    found: defaultdict[int, list[_Standing]] = defaultdict(list)
    for alarm, repeat_of in session.execute(query):
        codes = {"fault_code": alarm.code_key, "native_code": alarm.fault_code}
        found[alarm.leader_id].append(_Standing(_row(alarm, codes), repeat_of))
    return found


def _row(alarm: StandingAlarm | WorkOrder, own: dict[str, Any]) -> dict[str, Any]:
    """The ROW_FIELDS in their order, `own` for those that the row names otherwise or lacks."""
    return {name: own[name] if name in own else getattr(alarm, name) for name in ROW_FIELDS}


def _floods(session: Session, leader_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Of each leader the flood that it leads, the last one of several."""
    first_out, leader = aliased(Alarm), aliased(Alarm)
    order = func.coalesce(first_out.work_order_id, leader.work_order_id)
    query = (
        select(Flood, first_out, WorkOrder.order_id)
        .join(first_out, first_out.id == Flood.first_out_id)
        .outerjoin(leader, leader.id == first_out.leader_id)
        .outerjoin(WorkOrder, WorkOrder.id == order)
        .where(Flood.leader_id.in_(leader_ids))
        .order_by(Flood.id)
    )
    return {
        flood.leader_id: {
            "line_name": flood.line_name,
            "first_out": {
                "event_id": first.event_id,
                "source": first.source,
                "equipment": first.equipment,
                "fault_code": first.code_key,
                "order_id": order_id,
            },
            "started_at": flood.started_at,
            "ended_at": flood.ended_at,
        }
        for flood, first, order_id in session.execute(query)
    }
