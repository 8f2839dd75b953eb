"""Rows of standing alarms, floods and shelvings written directly, for tests of how they are read."""

from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select, update

from db.models import Alarm, Flood, Shelving, StandingAlarm, WorkOrder
from db.models.standing import StandingStatus
from db.session import Database
from tests.helpers.support import NOW


def stands(database: Database, order_id: str, **facts: Any) -> str:
    """One more standing alarm of the order, as in a flood; its fingerprint."""
    with database.writing() as session:
        leader = session.scalars(_leader(order_id)).one()
        number = len(session.scalars(select(StandingAlarm.id)).all())
        row = {
            "fingerprint": f"{number:064x}",
            "leader_id": leader.id,
            "status": StandingStatus.OPEN,
            "line_key": leader.line_name,
            "line_name": leader.line_name,
            "equipment": f"交互屏贴合机B{number}",
            "fault_code": f"Err {number}",
            "code_key": f"E{number}",
            "severity": 300,
            "occurrences": 1,
            "first_at": NOW,
            "last_at": NOW,
            "opened_at": NOW,
        } | facts
        session.add(StandingAlarm(**row))
    return str(row["fingerprint"])


def changed(database: Database, order_id: str, **values: Any) -> None:
    """The values put into all standing alarms of the order."""
    with database.writing() as session:
        [leader_id] = session.scalars(_leader(order_id).with_only_columns(Alarm.id))
        session.execute(update(StandingAlarm).where(StandingAlarm.leader_id == leader_id).values(values))


def forgotten(database: Database) -> None:
    """As if all orders had been made before standing alarms were kept."""
    with database.writing() as session:
        session.execute(delete(StandingAlarm))


def a_flood(database: Database, order_id: str, first_out_id: int, **facts: Any) -> None:
    """A flood that the order stands for, and that began with the alarm `first_out_id`."""
    with database.writing() as session:
        leader = session.scalars(_leader(order_id)).one()
        row = {
            "line_key": leader.line_name,
            "line_name": leader.line_name,
            "leader_id": leader.id,
            "first_out_id": first_out_id,
            "started_at": NOW,
        }
        session.add(Flood(**(row | facts)))


def shelved(database: Database, fingerprint: str, **facts: Any) -> int:
    """A shelving of it, for an hour from NOW; its id."""
    row = {
        "fingerprint": fingerprint,
        "line_name": "交互屏组装A线",
        "equipment": "交互屏贴合机A1",
        "fault_code": "E401",
        "until": NOW + timedelta(hours=1),
        "shelved_by": "王芳",
        "why": "等备件",
        "shelved_at": NOW,
    }
    with database.writing() as session:
        shelving = Shelving(**(row | facts))
        session.add(shelving)
        session.flush()
        return shelving.id


def put(database: Database, alarm_id: int, **values: Any) -> None:
    """The values put into an alarm's row."""
    with database.writing() as session:
        session.execute(update(Alarm).where(Alarm.id == alarm_id).values(values))


def _leader(order_id: str) -> Any:
    return (
        select(Alarm)
        .join(WorkOrder, WorkOrder.id == Alarm.work_order_id)
        .where(WorkOrder.order_id == order_id)
    )
