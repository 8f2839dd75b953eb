"""Probes in the database: stored once, sent a few at a time, claimed once, and forgotten."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from db.models import Probe
from db.queries.alarms import lease, probes
from db.session import Database
from tests.helpers.support import accepted, an_alarm, at_once, count

AFTER = timedelta(seconds=20)
ONE, TWO = "1" * 32, "2" * 32


def receive(database: Database, *tokens: str) -> None:
    with database.writing() as session:
        probes.receive(session, tokens)


def set_back(database: Database, token: str, **ages: timedelta) -> None:
    """The probe as if its stamps were so old."""
    now = datetime.now(UTC)
    with database.writing() as session:
        stamps = {name: now - age for name, age in ages.items()}
        session.execute(update(Probe).where(Probe.token == token).values(**stamps))


def due(database: Database) -> list[str]:
    with database.writing() as session:
        return probes.take_due(session, datetime.now(UTC), AFTER)


def look(database: Database, token: str = ONE) -> probes.Stamps | None:
    with database.reading() as session:
        return probes.look(session, token)


def test_a_probe_is_stored_once_and_the_first_stamp_stays(database: Database) -> None:
    receive(database, ONE, ONE)
    first = look(database)
    assert first is not None
    assert (first.dispatched_at, first.claimed_at, first.claimed_by) == (None, None, None)
    receive(database, TWO, ONE)
    assert look(database) == first
    assert count(database, Probe) == 2


def test_probes_that_nobody_asked_for_an_hour_ago_are_deleted_by_the_next(database: Database) -> None:
    receive(database, ONE, TWO)
    set_back(database, ONE, received_at=timedelta(minutes=61))
    set_back(database, TWO, received_at=timedelta(minutes=59))
    receive(database, "3" * 32)
    with database.reading() as session:
        assert set(session.scalars(select(Probe.token))) == {TWO, "3" * 32}


def test_a_probe_is_sent_once_and_again_when_its_task_seems_lost(database: Database) -> None:
    receive(database, ONE)
    assert due(database) == [ONE]
    assert due(database) == []
    set_back(database, ONE, dispatched_at=timedelta(seconds=21))
    assert due(database) == [ONE]


def test_a_probe_that_seems_to_have_been_sent_in_the_future_is_sent_again(database: Database) -> None:
    receive(database, ONE)
    set_back(database, ONE, dispatched_at=timedelta(hours=-1))
    assert due(database) == [ONE]


def test_a_probe_that_is_claimed_or_that_nobody_waits_for_is_not_sent(database: Database) -> None:
    receive(database, ONE, TWO)
    set_back(database, ONE, claimed_at=timedelta(seconds=30), dispatched_at=timedelta(seconds=31))
    set_back(database, TWO, received_at=timedelta(minutes=11))
    assert due(database) == []


def test_however_many_probes_there_are_a_few_are_sent_at_once(database: Database) -> None:
    receive(database, *(f"{number:032x}" for number in range(10)))
    assert [len(due(database)) for _ in range(4)] == [4, 4, 2, 0]


def test_what_could_not_be_sent_is_due_again(database: Database) -> None:
    receive(database, ONE, TWO)
    assert sorted(due(database)) == [ONE, TWO]
    with database.writing() as session:
        probes.undispatch(session, [TWO])
    assert due(database) == [TWO]


def test_of_many_claims_at_once_one_succeeds(database: Database) -> None:
    receive(database, ONE)

    def claim(owner: str) -> bool:
        with database.writing() as session:
            return probes.claim(session, ONE, owner)

    owners = [f"host:{number}" for number in range(8)]
    won = [owner for owner, claimed in zip(owners, at_once(claim, owners), strict=True) if claimed]
    stamps = look(database)
    assert stamps is not None
    assert [stamps.claimed_by] == won
    assert stamps.claimed_at is not None


def test_a_probe_that_was_forgotten_cannot_be_claimed(database: Database) -> None:
    receive(database, ONE)
    with database.writing() as session:
        probes.forget(session, ONE)
        assert not probes.claim(session, ONE, "host:1")
    assert look(database) is None


@pytest.mark.parametrize(("left", "held"), [(30, 1), (-1, 0)])
def test_alarms_whose_lease_is_valid_are_counted(database: Database, left: int, held: int) -> None:
    (worked_on, _waiting) = accepted(database, an_alarm(line_name="A"), an_alarm(line_name="B"))
    with database.writing() as session:
        lease.claim(session, worked_on, "host:1", datetime.now(UTC), timedelta(seconds=left))
    with database.reading() as session:
        assert probes.held_alarms(session) == held
