"""Whether every alarm is accounted for, and what is said when one is not."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, text, update

from db.models import Alarm, Flood, RejectedAlarm, Shelving, StandingAlarm, WorkOrder
from db.models.alarm import AlarmStatus, RejectedStatus, RejectReason
from db.models.order import OrderStatus
from db.models.standing import StandingStatus
from db.queries.alarms.intake import Unreadable, accept
from db.queries.books import books, newest_alarm, oldest_open
from db.session import Database
from tests.helpers.support import NOW, accepted, an_alarm, claimed, settled

NONE = {"waiting": 0, "dispatched": 0, "running": 0, "poison": 0}


def the_books(database: Database) -> dict[str, Any]:
    with database.reading() as session:
        return books(session, NOW)


def put(database: Database, status: AlarmStatus, **facts: Any) -> int:
    """An alarm of a fault of its own, in this status by hand."""
    values = {name: facts.pop(name) for name in ("leader_id", "work_order_id") if name in facts}
    alarm = an_alarm(**({"line_name": f"{status} {len(facts)}"} | facts))
    (number,) = accepted(database, alarm)
    with database.writing() as session:
        session.execute(update(Alarm).where(Alarm.id == number).values(status=status, **values))
    return number


def an_order_of(database: Database) -> tuple[int, int]:
    """A settled alarm and its order."""
    (number,) = accepted(database, an_alarm(line_name="settled"))
    settled(database, number, claimed(database, number))
    with database.reading() as session:
        order = session.scalars(select(Alarm.work_order_id).where(Alarm.id == number)).one()
    assert order is not None
    return number, order


def test_an_empty_database_balances(database: Database) -> None:
    found = the_books(database)
    assert found.pop("alarms") == {status.value: 0 for status in AlarmStatus}
    assert found.pop("rejected") == {"open": 0, "retried": 0, "dropped": 0}
    assert (found.pop("balanced"), found.pop("amiss")) == (True, [])
    assert set(found.values()) == {0}
    with database.reading() as session:
        assert (oldest_open(session), newest_alarm(session)) == ({}, None)


def test_every_alarm_is_counted_once_where_it_stands(database: Database) -> None:
    leader, _order = an_order_of(database)
    for status in (AlarmStatus.WAITING, AlarmStatus.DISPATCHED, AlarmStatus.RUNNING, AlarmStatus.POISON):
        put(database, status)
    put(database, AlarmStatus.ATTACHED, leader_id=leader)
    put(database, AlarmStatus.ATTACHED, leader_id=leader)
    put(database, AlarmStatus.SHELVED)
    put(database, AlarmStatus.STORED, state="cleared")
    put(database, AlarmStatus.STORED, attributes={"historical": True})
    put(database, AlarmStatus.STORED, attributes={"historical": True, "site": "东区"})
    found = the_books(database)
    assert found["alarms"] == {
        **dict.fromkeys(NONE, 1),
        "settled": 1,
        "attached": 2,
        "shelved": 1,
        "stored": 3,
    }
    parts = {name: found[name] for name in ("active", "opened", "attached", "shelved", "open", "poison")}
    assert parts == {"active": 8, "opened": 1, "attached": 2, "shelved": 1, "open": 4, "poison": 1}
    assert (found["cleared"], found["historical"]) == (1, 2)
    assert (found["orders"], found["orders_open"]) == (1, 1)
    assert (found["balanced"], found["amiss"]) == (True, [])


def test_what_stands_and_what_was_rejected_is_counted(database: Database) -> None:
    leader, order = an_order_of(database)
    entries = [Unreadable(f"{n}-0", b"x", RejectReason.NOT_JSON, "is not JSON") for n in range(3)]
    hour = timedelta(hours=1)
    fault = {"fingerprint": "a", "line_name": "A", "equipment": "", "fault_code": "E1"}
    standing = {
        **fault,
        "leader_id": leader,
        "line_key": "a",
        "code_key": "E1",
        "severity": 1,
        "occurrences": 1,
        "first_at": NOW,
        "last_at": NOW,
        "opened_at": NOW,
    }
    flood = {"line_name": "A", "leader_id": leader, "first_out_id": leader, "started_at": NOW}
    shelving = {**fault, "shelved_by": "王", "why": "检修", "shelved_at": NOW - hour}
    with database.writing() as session:
        accept(session, [], entries, NOW)
        session.execute(
            update(RejectedAlarm)
            .where(RejectedAlarm.entry_id == "1-0")
            .values(status=RejectedStatus.DROPPED, closed_at=NOW, closed_by="王")
        )
        session.execute(update(WorkOrder).where(WorkOrder.id == order).values(status=OrderStatus.CLOSED))
        session.execute(text("DELETE FROM standing_alarm"))
        session.add(StandingAlarm(**standing, status=StandingStatus.OPEN))
        session.add(StandingAlarm(**standing, status=StandingStatus.CLOSED, closed_at=NOW))
        session.add(Flood(**flood, line_key="a"))
        session.add(Flood(**flood, line_key="b", ended_at=NOW))
        session.add(Shelving(**shelving, until=NOW + hour))
        session.add(Shelving(**(shelving | {"fingerprint": "b"}), until=NOW))  # its time is over
        session.add(
            Shelving(**(shelving | {"fingerprint": "c"}), until=NOW + hour, ended_at=NOW, ended_by="王")
        )
    found = the_books(database)
    assert found["rejected"] == {"open": 2, "retried": 0, "dropped": 1}
    assert (found["orders"], found["orders_open"]) == (1, 0)
    assert (found["standing"], found["floods"], found["shelvings"]) == (1, 1, 1)


def _stored(database: Database) -> None:
    put(database, AlarmStatus.STORED, attributes={"historical": False, "note": '"historical": true'})


def _cleared(database: Database) -> None:
    put(database, AlarmStatus.WAITING, state="cleared")


def _no_order(database: Database) -> None:
    put(database, AlarmStatus.SETTLED)


def _order_too_early(database: Database) -> None:
    number, _order = an_order_of(database)
    with database.writing() as session:
        session.execute(update(Alarm).where(Alarm.id == number).values(status=AlarmStatus.RUNNING))


def _shared(database: Database) -> None:
    _number, order = an_order_of(database)
    put(database, AlarmStatus.SETTLED, work_order_id=order)


def _nobodys(database: Database) -> None:
    number, _order = an_order_of(database)
    with database.writing() as session:
        gone = update(Alarm).where(Alarm.id == number)
        session.execute(gone.values(status=AlarmStatus.SHELVED, work_order_id=None))


def _no_leader(database: Database) -> None:
    put(database, AlarmStatus.ATTACHED)


def _follower_of_a_follower(database: Database) -> None:
    leader, _order = an_order_of(database)
    put(database, AlarmStatus.ATTACHED, leader_id=put(database, AlarmStatus.ATTACHED, leader_id=leader))


def _follower_of_an_open_one_that_has_a_leader(database: Database) -> None:
    leader, _order = an_order_of(database)
    follower = put(database, AlarmStatus.RUNNING, leader_id=leader)
    put(database, AlarmStatus.ATTACHED, leader_id=follower)


def _follower_of_a_shelved_one(database: Database) -> None:
    put(database, AlarmStatus.ATTACHED, leader_id=put(database, AlarmStatus.SHELVED))


NO_LEADER = "1 attached alarms have no leader that makes or made an order"
WRONG: dict[Callable[[Database], None], str] = {
    _stored: "1 active alarms are stored although they are not historical",
    _cleared: "1 cleared events are not stored",
    _no_order: "1 settled alarms have no order",
    _order_too_early: "1 alarms have an order but are not settled",
    _shared: "2 alarms have an order that is another one's too",
    _nobodys: "1 orders belong to no alarm",
    _no_leader: NO_LEADER,
    _follower_of_a_follower: NO_LEADER,
    _follower_of_an_open_one_that_has_a_leader: NO_LEADER,
    _follower_of_a_shelved_one: NO_LEADER,
}


@pytest.mark.parametrize(
    ("wrong", "said"), WRONG.items(), ids=[wrong.__name__.removeprefix("_") for wrong in WRONG]
)
def test_what_does_not_balance_is_named(
    database: Database, wrong: Callable[[Database], None], said: str
) -> None:
    wrong(database)
    found = the_books(database)
    assert (found["balanced"], found["amiss"]) == (False, [said])


def test_the_oldest_open_alarms_and_the_newest_one_are_known(database: Database) -> None:
    for minute, state in enumerate(["active", "active", "cleared"]):
        alarm = an_alarm(line_name=f"line {minute}", state=state)
        accepted(database, alarm, now=NOW + timedelta(minutes=minute))
    with database.reading() as session:
        assert oldest_open(session) == {"waiting": NOW}
        assert newest_alarm(session) == NOW + timedelta(minutes=2)
