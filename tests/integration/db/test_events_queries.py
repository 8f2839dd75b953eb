"""From an event to its order, or to the reason why it has none, on both databases."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from db.errors import AmbiguousEvent, NoOrderYet, UnknownOrder
from db.models import Alarm, Shelving
from db.models.alarm import AlarmStatus
from db.queries import clock
from db.queries.orders.accounts import accounts
from db.queries.orders.events import part_of_another
from db.queries.orders.reading import show
from db.session import Database
from tests.helpers import standing_rows
from tests.helpers.faults import complete
from tests.helpers.support import NOW, accepted, an_alarm, claimed, settled
from tests.helpers.work_orders import Command, made, printed, refused

HOUR = timedelta(hours=1)


def shown(database: Database, key: str, source: str | None = None) -> Any:
    with database.reading() as session:
        return show(session, key, source)["order_id"]


def part(database: Database, key: str, source: str | None = None) -> Any:
    with database.reading() as session:
        return part_of_another(session, key, source)


def change_shelving(database: Database, **values: Any) -> None:
    with database.writing() as session:
        session.execute(update(Shelving).values(values))


def clock_now(database: Database) -> datetime:
    with database.reading() as session:
        return clock.now(session)


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
        an_alarm(event_id="old clear", historical=True, state="cleared"),
        an_alarm(event_id="gone", state="cleared"),
        an_alarm(event_id="new"),
    )
    shelving_id = standing_rows.shelved(database, "0" * 64, shelved_by="王芳", why="等备件")
    standing_rows.put(database, alarm_id, status=AlarmStatus.SHELVED, shelving_id=shelving_id)
    shelved = "its fingerprint was shelved by '王芳' until 2026-08-04 03:30+00:00 ('等备件')"
    assert why_not(database, "kept", AlarmStatus.SHELVED).startswith(shelved)
    change_shelving(database, ended_at=NOW)
    assert why_not(database, "kept", AlarmStatus.SHELVED) == f"{shelved}; the fault had been cleared by then"
    assert why_not(database, "old", AlarmStatus.STORED) == "a historical event makes none"
    assert why_not(database, "old clear", AlarmStatus.STORED) == (
        "a historical event makes none, and clears none"
    )
    assert why_not(database, "gone", AlarmStatus.STORED) == (
        "a cleared event makes none, and none was open that it could clear"
    )
    assert why_not(database, "new", AlarmStatus.WAITING) == "one is made once it has been handled"


def test_a_shelved_event_says_which_order_it_is_to_join_and_when(database: Database) -> None:
    leader, kept = accepted(
        database,
        an_alarm(event_id="leads", equipment="贴合机"),
        an_alarm(event_id="kept", equipment="供钉机"),
    )
    with database.reading() as session:
        own = session.get_one(Alarm, leader).fingerprint
    later = clock_now(database) + HOUR
    shelving_id = standing_rows.shelved(database, own, until=later)
    standing_rows.put(database, kept, status=AlarmStatus.SHELVED, shelving_id=shelving_id)
    unless = "unless the fault has been cleared,"

    def then() -> str:
        return why_not(database, "kept", AlarmStatus.SHELVED).split("; ")[1]

    joins = "it joins {}, or another order if that one has ended"
    to_come = joins.format("the order that event 'leads' from 'plc-7' is to have")
    assert then() == f"then, {unless} {to_come}"
    order_id = settled(database, leader, claimed(database, leader))
    assert then() == f"then, {unless} {joins.format(order_id)}"
    ends = "a running worker ends that within seconds, and then,"
    change_shelving(database, until=NOW)
    assert then() == f"{ends} {unless} {joins.format(order_id)}"
    change_shelving(database, until=later, ended_by="李明")
    assert "('等备件') and taken off the shelf by '李明'; " in why_not(database, "kept", AlarmStatus.SHELVED)
    standing_rows.forgotten(database)
    assert then() == f"{ends} {unless} it gets an order, or joins one that is open"


def test_a_clear_that_is_older_than_the_alarm_that_was_open_says_so(database: Database) -> None:
    facts = {"equipment": "贴合机", "state": "cleared"}
    early, late = NOW - HOUR, NOW + HOUR
    [leader] = accepted(database, an_alarm(event_id="leads", equipment="贴合机"))
    accepted(database, an_alarm(event_id="older", occurred_at=early, **facts))
    makes_none = "a cleared event makes none, and"
    older = f"{makes_none} it cleared none: the alarm that was open is newer"
    assert why_not(database, "older", AlarmStatus.STORED) == older
    order_id = settled(database, leader, claimed(database, leader))
    assert f"the alarm that was open, of {order_id}, is newer" in why_not(
        database, "older", AlarmStatus.STORED
    )
    complete(database, order_id, now=late)
    assert order_id in why_not(database, "older", AlarmStatus.STORED), "it was open at that moment"
    accepted(database, an_alarm(event_id="after", occurred_at=early, **facts), now=late + HOUR)
    none_open = f"{makes_none} none was open that it could clear"
    assert why_not(database, "after", AlarmStatus.STORED) == none_open
    accepted(database, an_alarm(equipment="贴合机", occurred_at=late), now=late + 2 * HOUR)
    assert why_not(database, "after", AlarmStatus.STORED) == none_open, "what came later was not open then"


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
    assert first.startswith("event again from plc-7, E401 贴合机, 2026-08-04 10:30:00,")
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
    assert "one is made once" in printed(work_orders("show", "again"))
    assert "'nobodys'" in refused(work_orders("show", "nobodys"), 1)
