"""From an event to its order, or to the reason why it has none, on both databases."""

import json
from typing import Any

import pytest
from sqlalchemy import update

from db.errors import AmbiguousEvent, NoOrderYet, UnknownOrder
from db.models import Shelving
from db.models.alarm import AlarmStatus
from db.queries.orders.accounts import accounts
from db.queries.orders.events import part_of_another
from db.queries.orders.reading import show
from db.session import Database
from tests import standing_rows
from tests.support import NOW, accepted, an_alarm, claimed, settled
from tests.work_orders import Command, made, printed, refused


def shown(database: Database, key: str, source: str | None = None) -> Any:
    with database.reading() as session:
        return show(session, key, source)["order_id"]


def part(database: Database, key: str, source: str | None = None) -> Any:
    with database.reading() as session:
        return part_of_another(session, key, source)


def why_not(database: Database, event_id: str, status: AlarmStatus) -> str:
    with database.reading() as session, pytest.raises(NoOrderYet) as without:
        show(session, event_id)
    assert without.value.status == status
    said = str(without.value)
    assert f"event {event_id!r}" in said
    assert f"is {status.value} and has no work order; " in said
    return said.split("; ", 1)[1]


def test_an_occurrence_and_a_clear_lead_to_the_order_they_belong_to(database: Database) -> None:
    order_id = made(database, event_id="leads", equipment="贴合机")
    accepted(database, an_alarm(event_id="again", equipment="贴合机", fault_code="Err 401", source="边缘盒"))
    accepted(database, an_alarm(event_id="gone", equipment="贴合机", state="cleared"))
    assert {shown(database, key) for key in ("leads", "again", "gone")} == {order_id}
    assert part(database, "leads") is None
    assert part(database, "again") == {
        "event_id": "again",
        "source": "边缘盒",
        "state": "active",
        "equipment": "贴合机",
        "fault_code": "E401",
        "native_code": "Err 401",
        "occurred_at": NOW,
        "leader": {"event_id": "leads", "source": "plc-7"},
    }
    assert part(database, "gone")["state"] == "cleared"


def test_an_event_id_of_several_sources_is_told_apart_among_occurrences_too(database: Database) -> None:
    order_id = made(database, event_id="1", source="plc-7", equipment="贴合机")
    accepted(database, an_alarm(event_id="1", source="边缘盒", equipment="贴合机"))
    with pytest.raises(AmbiguousEvent):
        shown(database, "1")
    assert shown(database, "1", "边缘盒") == shown(database, "1", "plc-7") == order_id
    assert part(database, "1", "plc-7") is None
    assert part(database, "1", "边缘盒")["leader"]["source"] == "plc-7"
    with pytest.raises(UnknownOrder):
        shown(database, "1", "plc-8")


def test_an_occurrence_of_what_is_still_worked_on_says_so(database: Database) -> None:
    leader, _ = accepted(
        database,
        an_alarm(event_id="leads", equipment="贴合机"),
        an_alarm(event_id="again", equipment="贴合机"),
    )
    why = why_not(database, "again", AlarmStatus.ATTACHED)
    assert why == (
        "it is an occurrence of event 'leads' from 'plc-7', which is waiting: "
        "one is made once it has been handled"
    )
    claimed(database, leader)
    assert "which is running: one is made" in why_not(database, "again", AlarmStatus.ATTACHED)
    standing_rows.put(database, leader, status=AlarmStatus.POISON, lease_owner=None, lease_until=None)
    assert "which is poison: three attempts" in why_not(database, "again", AlarmStatus.ATTACHED)
    assert "the runbook alone" in why_not(database, "leads", AlarmStatus.POISON)
    accepted(database, an_alarm(event_id="gone", equipment="贴合机", state="cleared"))
    assert "it is the clear of event 'leads'" in why_not(database, "gone", AlarmStatus.STORED)


def test_what_makes_no_order_says_why_and_does_not_promise_one(database: Database) -> None:
    [alarm_id, *_] = accepted(
        database,
        an_alarm(event_id="kept"),
        an_alarm(event_id="old", historical=True),
        an_alarm(event_id="gone", state="cleared"),
        an_alarm(event_id="new"),
    )
    shelving_id = standing_rows.shelved(database, "0" * 64, shelved_by="王芳", why="等备件")
    standing_rows.put(database, alarm_id, status=AlarmStatus.SHELVED, shelving_id=shelving_id)
    assert why_not(database, "kept", AlarmStatus.SHELVED) == (
        "its fingerprint was shelved by '王芳', '等备件'; "
        "it gets its order when that ends, unless the fault has been cleared by then"
    )
    with database.writing() as session:
        session.execute(update(Shelving).values(ended_at=NOW))
    assert "the fault was cleared before that ended" in why_not(database, "kept", AlarmStatus.SHELVED)
    assert why_not(database, "old", AlarmStatus.STORED) == "a historical event makes none"
    assert "none was open that it could clear" in why_not(database, "gone", AlarmStatus.STORED)
    assert why_not(database, "new", AlarmStatus.WAITING) == "one is made once it has been handled"


def test_the_account_of_an_occurrence_is_that_of_the_alarm_that_made_the_order(database: Database) -> None:
    [leader, _] = accepted(
        database,
        an_alarm(event_id="leads", equipment="贴合机"),
        an_alarm(event_id="again", equipment="贴合机", source="边缘盒"),
    )
    accepted(database, an_alarm(event_id="old", historical=True))

    def account(key: str) -> dict[str, Any]:
        with database.reading() as session:
            return accounts(session, key)

    assert account("again") == account("leads")
    assert account("again")["event_id"] == "leads"
    attempt = claimed(database, leader)
    assert [run["attempt"] for run in account("again")["runs"]] == [attempt]
    order_id = settled(database, leader, attempt)
    assert account("again")["order_id"] == order_id
    assert (account("old")["order_id"], account("old")["runs"]) == (None, [])


def test_show_says_above_the_order_that_the_event_is_an_occurrence_of_it(
    database: Database, work_orders: Command
) -> None:
    order_id = made(database, event_id="leads", equipment="贴合机")
    accepted(database, an_alarm(event_id="again", equipment="贴合机"))
    first = printed(work_orders("show", "again")).splitlines()[0]
    assert first.startswith("event again from plc-7, E401  贴合机, 2026-08-04 10:30:00,")
    assert first.endswith(f"is an occurrence of {order_id}")
    for key in ("leads", order_id, order_id.lower()):
        assert printed(work_orders("show", key)).startswith(order_id)
    as_json = printed(work_orders("show", "again", "--json"))
    assert json.loads(as_json) == json.loads(printed(work_orders("show", order_id, "--json")))
    traced = printed(work_orders("show", "again", "--trace")).splitlines()
    assert traced[0].endswith(f"is an occurrence of {order_id}")
    assert traced[1].startswith(order_id)


def test_a_trace_of_what_is_worked_on_or_never_will_be_says_so(
    database: Database, work_orders: Command
) -> None:
    accepted(
        database,
        an_alarm(event_id="leads", equipment="贴合机"),
        an_alarm(event_id="again", equipment="贴合机"),
        an_alarm(event_id="old", historical=True),
    )
    traced = printed(work_orders("show", "again", "--trace"))
    assert "is an occurrence of event leads from plc-7" in " ".join(traced.split())
    assert "no work order yet" in traced
    assert "no attempt has been made yet" in traced
    never = printed(work_orders("show", "old", "--trace"))
    assert "no attempt is made at it: it is stored" in never
    assert "yet" not in never
    assert "one is made once" in refused(work_orders("show", "again"), 1)
