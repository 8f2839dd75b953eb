"""A worker that stands still in the middle of a transaction does not keep all the others from settling."""

from collections.abc import Iterator

import pytest
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from db import session as sessions
from db.models import WorkOrder
from db.queries.alarms.intake import accept
from db.queries.alarms.settle import settle
from db.session import Database
from tests.helpers.faults import LEADS, attached, fault, places, take_in
from tests.helpers.support import NOW, ZONE, accepted, an_alarm, an_order, claimed, only_postgresql, settled


@pytest.fixture
def frozen(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """Who stands still: for more than a second, instead of the thirty that a writer has."""
    assert sessions.POSTGRESQL_CONNECTION["options"] == "-c idle_in_transaction_session_timeout=30s"
    option = "-c idle_in_transaction_session_timeout=1s"
    monkeypatch.setitem(sessions.POSTGRESQL_CONNECTION, "options", option)
    database = Database(database_url)
    yield database
    database.close()


@only_postgresql
def test_an_intake_that_stands_still_loses_its_lines_and_the_next_one_goes_on(
    database: Database, frozen: Database
) -> None:
    mine, other = fault("A1"), fault("A1")

    def takes_in_and_stands_still() -> None:
        with frozen.writing() as session:
            accept(session, [("1-0", b"", mine)], [], NOW)
            take_in(database, other)  # waits for the same line
            assert places(database, other) == [LEADS]

    with pytest.raises(DBAPIError):
        takes_in_and_stands_still()
    take_in(database, mine)
    assert places(database, mine) == [attached(other)]


@only_postgresql
def test_a_settlement_that_stands_still_loses_its_locks_and_the_next_one_gets_the_number(
    database: Database, frozen: Database
) -> None:
    mine, other = accepted(database, an_alarm(), an_alarm())
    attempts = {row: claimed(database, row) for row in (mine, other)}

    def settles_and_stands_still() -> None:
        with frozen.writing() as session:
            settle(session, mine, attempts[mine], an_order(), NOW, ZONE)
            assert settled(database, other, attempts[other]) == "WO-20260804-0001"

    with pytest.raises(DBAPIError):
        settles_and_stands_still()
    assert settled(database, mine, attempts[mine]) == "WO-20260804-0002"
    with database.reading() as session:
        assert len(session.scalars(select(WorkOrder)).all()) == 2
