"""A worker that stands still in the middle of a transaction does not keep all the others from settling."""

import pytest
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from db import session as sessions
from db.models import WorkOrder
from db.queries.alarms.settle import settle
from db.session import Database
from tests.support import NOW, ZONE, accepted, an_alarm, an_order, claimed, only_postgresql, settled


@only_postgresql
def test_a_settlement_that_stands_still_loses_its_locks_and_the_next_one_gets_the_number(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sessions.POSTGRESQL_CONNECTION["options"] == "-c idle_in_transaction_session_timeout=30s"
    option = "-c idle_in_transaction_session_timeout=1s"
    monkeypatch.setitem(sessions.POSTGRESQL_CONNECTION, "options", option)
    frozen = Database(database_url)
    mine, other = accepted(database, an_alarm(), an_alarm())
    attempts = {row: claimed(database, row) for row in (mine, other)}

    def settles_and_stands_still() -> None:
        with frozen.writing() as session:
            settle(session, mine, attempts[mine], an_order(), NOW, ZONE)
            assert settled(database, other, attempts[other]) == "WO-20260804-0001"

    with pytest.raises(DBAPIError):
        settles_and_stands_still()
    assert settled(database, mine, attempts[mine]) == "WO-20260804-0002"
    frozen.close()
    with database.reading() as session:
        assert len(session.scalars(select(WorkOrder)).all()) == 2
