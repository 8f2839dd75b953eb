"""Shelving on both databases: by whom, until when, once at a time."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from db.errors import (
    AlreadyShelved,
    AmbiguousFingerprint,
    NotShelved,
    UnknownFingerprint,
    UnknownOrder,
)
from db.models import Shelving
from db.models.alarm import AlarmStatus
from db.queries.books import books
from db.queries.orders.reading import show
from db.queries.standing import shelving
from db.queries.standing.shelved import release
from db.rules import Rules
from db.session import Database
from tests.helpers import standing_rows
from tests.helpers.support import NOW, accepted, an_alarm, at_once, claimed, count, settled
from tests.helpers.work_orders import made

HOUR = timedelta(hours=1)
FIRST, SECOND = "abcdef01" + "2" * 56, "abcdef01" + "f" * 56


def shelve(
    database: Database, key: str, until: datetime = NOW + HOUR, by: str = "王芳", now: datetime = NOW
) -> dict[str, Any]:
    with database.writing() as session:
        return shelving.shelve(session, key, until, by, "等备件", now)


def unshelve(database: Database, key: str, now: datetime = NOW) -> dict[str, Any]:
    with database.writing() as session:
        return shelving.unshelve(session, key, "李明", now)


def listed(database: Database, now: datetime = NOW, ended: bool = False) -> list[dict[str, Any]]:
    with database.reading() as session:
        return shelving.list_shelved(session, now, ended)


@pytest.fixture
def two_alike(database: Database) -> Database:
    """Two alarms whose fingerprints begin with the same eight digits."""
    ids = accepted(database, an_alarm(equipment="一号机"), an_alarm(equipment="二号机"))
    for alarm_id, fingerprint in zip(ids, (FIRST, SECOND), strict=True):
        standing_rows.put(database, alarm_id, fingerprint=fingerprint)
    return database


@pytest.mark.parametrize("key", [FIRST, FIRST[:9], FIRST.upper(), FIRST[:10].upper()])
def test_a_fingerprint_is_named_by_its_first_digits_in_any_case(two_alike: Database, key: str) -> None:
    assert shelve(two_alike, key)["fingerprint"] == FIRST


def test_digits_that_begin_several_fingerprints_or_none_are_refused(two_alike: Database) -> None:
    with pytest.raises(AmbiguousFingerprint) as several:
        shelve(two_alike, "abcdef01")
    assert list(several.value.fingerprints) == [FIRST, SECOND]
    for unknown in ("abcdef00", "abcdef02", "f" * 64, FIRST + "0"):
        with pytest.raises(UnknownFingerprint):
            shelve(two_alike, unknown)
    with pytest.raises(UnknownOrder):
        shelve(two_alike, "WO-20260804-0009")
    assert count(two_alike, Shelving) == 0


def test_an_order_stands_for_the_fault_that_it_began_with(database: Database) -> None:
    order_id = made(database, equipment="贴合机", fault_code="Err 401")
    standing_rows.stands(database, order_id)
    shelved = shelve(database, order_id.lower())
    assert (shelved["equipment"], shelved["fault_code"]) == ("贴合机", "E401")
    assert shelved["order_id"] == order_id


def test_a_fault_without_an_open_order_is_shelved_all_the_same(two_alike: Database) -> None:
    assert shelve(two_alike, FIRST)["order_id"] is None


def test_a_fault_is_named_as_its_last_alarm_has_it(database: Database) -> None:
    order_id = made(database, equipment="贴合机 A1", fault_code="Err 401")
    accepted(database, an_alarm(equipment="贴合机a1"))
    assert shelve(database, order_id)["equipment"] == "贴合机a1"


def test_what_is_shelved_is_listed_until_its_time_is_over(two_alike: Database) -> None:
    shelve(two_alike, FIRST, NOW + 2 * HOUR)
    shelve(two_alike, SECOND)
    rows = listed(two_alike)
    assert [row["fingerprint"] for row in rows] == [SECOND, FIRST]  # the next one to end on top
    assert rows[0] == {
        "id": rows[0]["id"],
        "fingerprint": SECOND,
        "line_name": "交互屏组装A线",
        "equipment": "二号机",
        "fault_code": "E401",
        "until": NOW + HOUR,
        "shelved_by": "王芳",
        "why": "等备件",
        "shelved_at": NOW,
        "ended_at": None,
        "ended_by": None,
        "kept_back": 0,
    }
    assert [row["fingerprint"] for row in listed(two_alike, NOW + HOUR)] == [FIRST]
    assert [row["fingerprint"] for row in listed(two_alike, NOW + HOUR, ended=True)] == [FIRST, SECOND]
    assert listed(two_alike, NOW + 3 * HOUR) == []


def test_what_it_kept_back_is_counted_for_each_shelving(two_alike: Database) -> None:
    first, second = shelve(two_alike, FIRST), shelve(two_alike, SECOND)
    kept = [(first, AlarmStatus.SHELVED)] * 3 + [(first, AlarmStatus.WAITING), (second, AlarmStatus.SHELVED)]
    for alarm_id, (by, status) in zip(accepted(two_alike, *(an_alarm() for _ in kept)), kept, strict=True):
        standing_rows.put(two_alike, alarm_id, status=status, shelving_id=by["id"])
    assert {row["fingerprint"]: row["kept_back"] for row in listed(two_alike)} == {FIRST: 4, SECOND: 1}
    assert unshelve(two_alike, FIRST)["kept_back"] == 4


def test_a_fault_that_is_shelved_says_until_when_in_the_askers_time_and_by_whom(two_alike: Database) -> None:
    shelve(two_alike, FIRST)
    with pytest.raises(AlreadyShelved, match=r"until 2026-08-04 11:30\+08:00 by '王芳'") as already:
        shelve(two_alike, FIRST, (NOW + 9 * HOUR).astimezone(ZoneInfo("Asia/Shanghai")), "李明")
    assert "unshelve" in str(already.value)
    [row] = listed(two_alike)
    assert (row["until"], row["shelved_by"]) == (NOW + HOUR, "王芳")


def test_a_shelving_that_no_worker_has_ended_yet_is_waited_for(two_alike: Database) -> None:
    shelve(two_alike, FIRST)
    with pytest.raises(AlreadyShelved, match="a running worker ends that within seconds"):
        shelve(two_alike, FIRST, NOW + 3 * HOUR, now=NOW + HOUR)
    assert count(two_alike, Shelving) == 1


def test_a_shelving_that_a_person_ended_is_waited_for_too(two_alike: Database) -> None:
    shelve(two_alike, FIRST)
    unshelve(two_alike, FIRST)
    taken_off = "by '王芳' and taken off the shelf by '李明'; a running worker ends that within seconds"
    with pytest.raises(AlreadyShelved, match=taken_off):
        shelve(two_alike, FIRST)


def test_a_shelving_is_ended_before_its_time_once(two_alike: Database) -> None:
    shelve(two_alike, FIRST)
    soon = NOW + timedelta(minutes=1)
    ended = unshelve(two_alike, FIRST[:12], soon)
    assert (ended["until"], ended["ended_by"], ended["ended_at"]) == (NOW + HOUR, "李明", None)
    assert listed(two_alike, soon) == []
    assert [row["until"] for row in listed(two_alike, soon, ended=True)] == [NOW + HOUR]
    with two_alike.reading() as session:
        assert books(session, soon)["shelvings"] == 0
    for key in (FIRST, SECOND):
        with pytest.raises(NotShelved):
            unshelve(two_alike, key, soon)


def test_what_has_ended_can_be_shelved_again_and_is_kept(two_alike: Database) -> None:
    for hours in (3, 1, 2):
        ended = {"ended_at": NOW - hours * HOUR, "until": NOW - hours * HOUR}
        standing_rows.shelved(two_alike, FIRST, **ended, shelved_at=NOW - 4 * HOUR)
    shelve(two_alike, FIRST)
    assert len(listed(two_alike)) == 1
    ends = [row["ended_at"] for row in listed(two_alike, ended=True)]
    assert ends == [None, *(NOW - hours * HOUR for hours in (1, 2, 3))]  # the last one on top


def test_of_what_has_ended_the_last_one_is_on_top_whatever_was_agreed(two_alike: Database) -> None:
    standing_rows.shelved(two_alike, FIRST, ended_at=NOW - 2 * HOUR, until=NOW + 9 * HOUR, ended_by="李明")
    standing_rows.shelved(two_alike, FIRST, ended_at=NOW - HOUR, until=NOW - HOUR)
    standing_rows.shelved(two_alike, FIRST, until=NOW + 5 * HOUR, ended_by="李明")  # no worker has ended it
    ends = [row["ended_at"] for row in listed(two_alike, ended=True)]
    assert ends == [None, NOW - HOUR, NOW - 2 * HOUR]


def test_of_many_who_shelve_the_same_at_once_one_does_and_the_others_are_told(two_alike: Database) -> None:
    def ask(who: int) -> bool:
        try:
            shelve(two_alike, FIRST, by=f"person {who}")
        except AlreadyShelved:
            return False
        return True

    assert sum(at_once(ask, range(8))) == 1
    assert count(two_alike, Shelving) == 1


def test_a_shelved_alarm_makes_no_order_and_no_other_is_kept_back(database: Database) -> None:
    made(database, equipment="贴合机", event_id="before")
    with database.reading() as session:
        own = shelving.fingerprint_of(session, "WO-20260804-0001")
    shelve(database, own)
    accepted(database, *(an_alarm(equipment="贴合机") for _ in range(2)), an_alarm(equipment="供钉机"))
    assert [row["kept_back"] for row in listed(database)] == [2]


def test_what_was_kept_back_gets_its_place_when_it_is_unshelved_and_stays_counted(database: Database) -> None:
    [first] = accepted(database, an_alarm(equipment="贴合机"))
    order_id = settled(database, first, claimed(database, first))
    shelve(database, order_id)
    accepted(database, an_alarm(equipment="贴合机", event_id="kept"))
    soon = NOW + timedelta(minutes=1)
    unshelve(database, order_id, soon)
    with database.writing() as session:
        assert release(session, soon, Rules()) == 1
    [row] = listed(database, soon, ended=True)
    assert (row["ended_at"], row["ended_by"], row["kept_back"]) == (soon, "李明", 1)
    assert row["until"] == NOW + HOUR  # as it was agreed
    with database.reading() as session:
        shown = show(session, "kept")
    assert (shown["order_id"], shown["occurrences"]) == (order_id, 2)
    shelve(database, order_id, now=soon)
