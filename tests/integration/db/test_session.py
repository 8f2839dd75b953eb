"""What every connection to the database is set to."""

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError

from db.session import Database
from tests.helpers.support import only_postgresql


def parameters(database: Database) -> dict[str, str]:
    with database.engine.connect() as connection:
        driver_connection = connection.connection.driver_connection
        assert driver_connection is not None
        found: dict[str, str] = driver_connection.info.get_parameters()
        return found


@only_postgresql
def test_a_server_that_is_gone_without_a_word_is_noticed_within_half_a_minute(database: Database) -> None:
    found = parameters(database)
    idle, interval, count = (int(found[f"keepalives_{name}"]) for name in ("idle", "interval", "count"))
    assert idle + interval * count <= 30
    assert int(found["tcp_user_timeout"]) <= 30_000


@only_postgresql
def test_what_the_address_says_of_the_connection_counts(database_url: str) -> None:
    address = make_url(database_url).update_query_dict({"tcp_user_timeout": "7000"})
    database = Database(address.render_as_string(hide_password=False))
    found = parameters(database)
    database.close()
    assert found["tcp_user_timeout"] == "7000"
    assert found["connect_timeout"] == "5"


def test_an_error_does_not_repeat_what_was_to_be_stored(database: Database) -> None:
    statement = text("INSERT INTO no_table VALUES (:words)")
    with pytest.raises(DBAPIError) as caught, database.writing() as session:
        session.execute(statement, {"words": "请致电 13800138000"})
    assert "no_table" in str(caught.value)
    assert "13800138000" not in str(caught.value)
