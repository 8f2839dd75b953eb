"""The spool: what it has taken stays in its order, and what is no spool stays as it is."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from producers.spool import NoSpool, Spool, SpoolError
from tests.helpers.support import at_once

EVERYTHING = 2**60


def opened(file: Path, most: int = 100, busy_seconds: float = 10) -> "closing[Spool]":
    return closing(Spool(str(file), most, busy_seconds=busy_seconds))


def events_in(spool: Spool) -> list[str]:
    return [each.event.decode() for each in spool.head(10_000, EVERYTHING)]


def test_events_come_out_as_they_went_in_also_from_another_process(tmp_path: Path) -> None:
    file = tmp_path / "备用" / "报警.spool"
    file.parent.mkdir()
    with opened(file) as spool:
        assert spool.append(["一", "二"], "me") == (2, 2)
        assert spool.append(["三"], "you") == (1, 3)
    with opened(file) as spool:
        assert spool.head(2, EVERYTHING) == [(1, "me", "一".encode()), (2, "me", "二".encode())]
        assert events_in(spool) == ["一", "二", "三"]
        assert [each.n for each in spool.head(10, 2)] == [1, 2]
        assert (spool.count(), spool.count("me"), spool.count("nobody"), spool.last()) == (3, 2, 0, 3)


def test_what_is_removed_is_gone_and_its_number_is_not_given_again(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as spool:
        spool.append(["a", "b", "c"], "me")
        spool.remove(spool.head(2, EVERYTHING))
        assert events_in(spool) == ["c"]
        spool.remove(spool.head(2, EVERYTHING))
        assert (spool.count(), spool.last()) == (0, 0)
    with opened(tmp_path / "s") as spool:
        assert spool.append(["d"], "me") == (1, 4)


def test_a_full_spool_takes_the_first_events_and_says_how_many(tmp_path: Path) -> None:
    with opened(tmp_path / "s", most=3) as spool:
        assert spool.append(["a", "b"], "me") == (2, 2)
        assert spool.append(["c", "d"], "me")[0] == 1
        assert spool.append(["e"], "me")[0] == 0
        spool.remove(spool.head(2, EVERYTHING))
        assert spool.append(["f", "g", "h"], "me")[0] == 2
        assert events_in(spool) == ["c", "f", "g"]


def test_a_spool_that_is_given_less_room_than_it_holds_keeps_what_it_holds(tmp_path: Path) -> None:
    with opened(tmp_path / "s", most=3) as spool:
        spool.append(["a", "b", "c"], "me")
    with opened(tmp_path / "s", most=1) as spool:
        assert spool.append(["d"], "me")[0] == 0
        assert events_in(spool) == ["a", "b", "c"]


def test_each_change_is_synced_to_the_disk_with_its_folder(tmp_path: Path) -> None:
    extra = 3
    with opened(tmp_path / "s") as spool:
        assert spool._database.execute("PRAGMA synchronous").fetchone() == (extra,)
        assert spool._database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_many_append_at_once_and_none_loses_an_event_or_its_order(tmp_path: Path) -> None:
    def append(sender: int) -> None:
        with opened(tmp_path / "s", most=1000, busy_seconds=60) as spool:
            for number in range(0, 20, 2):
                spool.append([f"{sender} {number}", f"{sender} {number + 1}"], str(sender))

    at_once(append, range(6))
    with opened(tmp_path / "s") as spool:
        rows = spool.head(10_000, EVERYTHING)
        assert [each.n for each in rows] == list(range(1, 121))
        for sender in range(6):
            mine = [each.event.decode() for each in rows if each.sender == str(sender)]
            assert mine == [f"{sender} {number}" for number in range(20)]


def test_a_new_spool_is_made_once_by_many_at_once(tmp_path: Path) -> None:
    def append(number: int) -> None:
        with opened(tmp_path / str(number // 6), busy_seconds=60) as spool:
            spool.append([str(number)], "me")

    at_once(append, range(30))
    for number in range(5):
        with opened(tmp_path / str(number)) as spool:
            assert spool.count() == 6


def test_who_looks_while_another_removes_sees_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "s") as spool, opened(tmp_path / "s", busy_seconds=0.05) as other:
        spool.append(["a", "b"], "me")
        first = other.head(1, EVERYTHING)
        held = Spool._held

        def held_and_then_removed(looking: Spool) -> range:
            numbers = held(looking)
            with suppress(SpoolError):  # it has to wait until the look is over
                other.remove(first)
            return numbers

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(Spool, "_held", held_and_then_removed)
            assert [each.event for each in spool.head(10, EVERYTHING)] == [b"a", b"b"]
        other.remove(first)
        assert events_in(spool) == ["b"]


def test_who_opens_a_spool_while_another_makes_it_does_not_take_it_for_a_foreign_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Spool._asked
    others: list[str] = []

    def asked_and_then_made(opening: Spool, query: str, *values: object) -> Any:
        answer = asked(opening, query, *values)
        if not others:
            others.append(query)
            with suppress(SpoolError):  # it has to wait until the look is over
                Spool(str(tmp_path / "s"), 100, busy_seconds=0.05).close()
        return answer

    monkeypatch.setattr(Spool, "_asked", asked_and_then_made)
    with opened(tmp_path / "s") as spool:
        assert spool.append(["a"], "me") == (1, 1)
    assert others == ["PRAGMA application_id"]


def test_one_drains_at_a_time_and_the_others_learn_who(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as one, opened(tmp_path / "s") as other:
        with one.draining() as mine:
            assert mine
            with other.draining() as theirs:
                assert not theirs
            assert f"process {os.getpid()} on " in other.drainer()
            other.append(["a"], "other")  # to append is never forbidden
        with other.draining() as theirs:
            assert theirs


def test_a_second_look_waits_for_who_writes_and_then_says_what_is_the_matter(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as spool:
        spool.append(["a"], "me")
        with closing(sqlite3.connect(tmp_path / "s", isolation_level=None)) as shell:
            shell.execute("BEGIN EXCLUSIVE")
            with pytest.raises(SpoolError, match=r"locked by another program for 0\.1 s") as caught:
                Spool(str(tmp_path / "s"), 100, busy_seconds=0.1)
            assert not isinstance(caught.value, NoSpool)
        with opened(tmp_path / "s") as again:
            assert events_in(again) == ["a"]


def test_a_full_disk_leaves_what_is_there_and_takes_nothing_by_half(tmp_path: Path) -> None:
    with opened(tmp_path / "s", most=10_000) as spool:
        spool.append(["a"], "me")
        spool._database.execute("PRAGMA max_page_count = 8")
        with pytest.raises(SpoolError, match="the disk is full"):
            spool.append(["x" * 1000] * 100, "me")
        assert events_in(spool) == ["a"]
        assert spool.append(["b"], "me")[0] == 1


def test_an_empty_file_becomes_a_spool(tmp_path: Path) -> None:
    (tmp_path / "s").touch()
    with opened(tmp_path / "s") as spool:
        assert spool.append(["a"], "me") == (1, 1)


def test_two_names_of_one_file_are_one_spool(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as spool:
        (tmp_path / "link").symlink_to("s")
        with opened(tmp_path / "link") as other, spool.draining() as mine, other.draining() as theirs:
            assert (mine, theirs) == (True, False)


def test_an_event_whose_text_is_damaged_does_not_hold_up_the_others(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as spool:
        spool.append(["a", "b"], "me")
    with closing(sqlite3.connect(tmp_path / "s")) as other:
        other.execute("UPDATE spooled SET event = CAST(x'ff00fe' AS TEXT), sender = event WHERE n = 1")
        other.commit()
    with opened(tmp_path / "s") as spool:
        assert [each.event for each in spool.head(10, EVERYTHING)] == [b"\xff\0\xfe", b"b"]
