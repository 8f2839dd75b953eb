"""Alarms of a database of the version before, and of a worker of it that runs on beside this one."""

import json
from datetime import timedelta
from typing import Any

import pytest
from alembic import command
from sqlalchemy import DateTime, MetaData, Table, select

from db import migrate
from db.codes import fingerprint, normalise
from db.models import Alarm, StandingAlarm
from db.queries.alarms.lease import claim
from db.rules import FloodLimit, Rules
from db.session import Database
from tests.helpers.faults import (
    LEADS,
    attached,
    fault,
    minutes,
    move,
    order_row,
    places,
    take_in,
    the_standing,
)
from tests.helpers.support import LEASE, NOW, settled

# As revision 0003's code wrote it: none of the columns that came later.
OLD_COLUMNS = [
    "source", "event_id", "content_digest", "line_name", "equipment", "equipment_class", "fault_code",
    "code_key", "fingerprint", "severity", "state", "message", "occurred_at", "attributes", "received_at",
    "status", "next_attempt_at", "dispatched_at", "attempt", "failures", "lease_owner", "lease_until",
    "work_order_id",
]  # fmt: skip


def insert_old(database: Database, name: str, status: str = "waiting", **facts: Any) -> int:
    """An alarm as the version before writes it."""
    alarm = fault(name, facts.pop("at", 0), **facts.pop("event", {}))
    row = vars(alarm) | {
        "code_key": normalise(alarm.fault_code),
        "fingerprint": fingerprint(alarm.line_name, alarm.equipment, alarm.fault_code),
        "received_at": NOW,
        "status": status,
        "next_attempt_at": NOW,
        "attempt": 0,
        "failures": 0,
    }
    row |= facts
    values = {column: row.get(column) for column in OLD_COLUMNS}
    with database.writing() as session:
        table = Table("alarm", MetaData(), autoload_with=session.connection())
        found = session.execute(table.insert().values(values).returning(table.c.id))
        return int(found.scalar_one())


def insert_order(database: Database, order_row_id: int, status: str) -> int:
    with database.writing() as session:
        table = Table("work_order", MetaData(), autoload_with=session.connection())
        blank: dict[str, Any] = {
            column.name: NOW if isinstance(column.type, DateTime) else "0"
            for column in table.columns
            if not column.nullable
        }
        lists: dict[str, list[str]] = {
            name: [] for name in ("actions", "causes", "safety", "diagnosis_flags")
        }
        numbers = dict.fromkeys(("severity", "priority", "model_calls", "input_tokens", "output_tokens"), 3)
        own = {
            "id": order_row_id, "order_id": f"WO-20260804-{order_row_id:04}", "sequence": order_row_id,
            "status": status, "plant_date": NOW.date(), "line_name": "交互屏组装A线",
        }  # fmt: skip
        session.execute(table.insert().values(blank | lists | numbers | own))
    return order_row_id


def test_of_each_fault_the_newest_alarm_whose_work_is_not_ended_holds_it(database: Database) -> None:
    command.downgrade(migrate.config(database), "0003")
    old = [insert_order(database, number, "Running") for number in (1, 2)]
    done = [
        insert_order(database, 3 + number, word)
        for number, word in enumerate(("Completed", "Cancelled", "Closed"))
    ]
    expected = {}
    insert_old(database, "two orders", "settled", work_order_id=old[0])
    expected["two orders"] = insert_old(database, "two orders", "settled", work_order_id=old[1], at=3)
    for name, status in (("waiting", "waiting"), ("sent", "dispatched"), ("running", "running")):
        insert_old(database, name, "settled", work_order_id=done[0])
        expected[name] = insert_old(database, name, status)
    for number in done:
        insert_old(database, f"ended {number}", "settled", work_order_id=number)
    insert_old(database, "cleared", "stored", event={"state": "cleared"})
    migrate.upgrade(database)
    with database.reading() as session:
        rows = {row.equipment: row for row in session.scalars(select(StandingAlarm))}
    assert {name: row.leader_id for name, row in rows.items()} == expected
    row = rows["two orders"]
    assert (row.status, row.occurrences, row.first_at, row.last_at) == ("open", 1, minutes(3), minutes(3))
    assert (row.severity, row.opened_at, row.cleared_at, row.repeat_of) == (500, NOW, None, None)
    again = fault("two orders", 5, severity=900)
    fresh = fault(f"ended {done[0]}", 5)
    take_in(database, again, fresh)
    with database.reading() as session:
        assert (
            session.scalars(select(Alarm.leader_id).where(Alarm.event_id == again.event_id)).one()
            == (expected["two orders"])
        )
    assert places(database, fresh) == [LEADS]
    assert order_row(database, "WO-20260804-0001").severity == 3
    assert order_row(database, "WO-20260804-0002").severity == 900
    move(database, "WO-20260804-0002", "Completed")
    move(database, "WO-20260804-0001", "Completed")
    later = fault("two orders", 6)
    take_in(database, later)
    assert places(database, later) == [LEADS]
    assert the_standing(database, "two orders").repeat_of == 2


def test_faults_that_stood_before_count_for_a_flood_however_their_line_is_written(
    database: Database,
) -> None:
    command.downgrade(migrate.config(database), "0003")
    for number, line_name in enumerate((" SMT  Line 1", "smt-line 1", "ＳＭＴ Line 1")):
        insert_old(database, f"A{number}", event={"line_name": line_name})
    migrate.upgrade(database)
    first, second = fault("A3", 1, line_name="SMT Line 1"), fault("A4", 1, line_name="SMT Line 1")
    take_in(database, first, second, rules=Rules(flood_limit=FloodLimit(3, timedelta(minutes=10))))
    assert places(database, first, second) == [LEADS, attached(first)]


def test_an_alarm_that_an_older_worker_took_in_is_worked_through_beside_the_others(
    database: Database,
) -> None:
    row = insert_old(database, "A1")
    new, more = fault("A1"), fault("A1")
    take_in(database, new, more)
    assert places(database, new, more) == [LEADS, attached(new)]
    with database.writing() as session:
        held = claim(session, row, "a test", NOW, LEASE)
    assert held is not None
    order_id = settled(database, row, held.attempt)
    assert order_row(database, order_id).severity == 500
    for status in ("Ready", "Dispatched", "Running", "Completed", "Running", "Completed", "Closed"):
        move(database, order_id, status)
    assert the_standing(database, "A1").occurrences == 2


@pytest.mark.parametrize("known", ["historical", "something of the future"])
def test_a_field_that_an_older_worker_does_not_know_does_not_change_what_the_event_is(known: str) -> None:
    """Both versions must say of a repeated delivery that it is one."""
    from producers.events import AlarmEvent

    event = {
        "event_id": "1", "source": "plc-7", "line_name": "A", "fault_code": "E401",
        "occurred_at": "2026-08-04T10:30:00+08:00",
    }  # fmt: skip
    beside = AlarmEvent.parse(json.dumps(event | {known: True}).encode())
    within = AlarmEvent.parse(json.dumps(event | {"attributes": {known: True}}).encode())
    assert beside == within
    assert beside.attributes == {known: True}
    assert beside.digest() == within.digest() == AlarmEvent.parse(beside.to_json().encode()).digest()
    assert known not in AlarmEvent.model_fields
