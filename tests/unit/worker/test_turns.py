"""Writers of SQLite take turns: whoever asked first is first, and nobody asks in vain."""

import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from db.session import Database
from tests.helpers.support import at_once, broken_off, eventually


@pytest.fixture
def counters(tmp_path: Path) -> Database:
    database = Database(f"sqlite:///{tmp_path / 'turns.db'}", pool_size=16)
    with database.writing() as session:
        session.execute(text("CREATE TABLE counter (value INTEGER)"))
    return database


def test_writers_come_in_the_order_in_which_they_asked(counters: Database) -> None:
    order: list[int] = []
    turns = counters._turns

    def write(n: int) -> None:
        with counters.writing():
            order.append(n)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(20)]
    with counters.writing():
        for n, thread in enumerate(threads):
            thread.start()
            eventually(lambda n=n: len(turns._waiting) == n + 1, 10)  # type: ignore[misc, union-attr]
    for thread in threads:
        thread.join()
    assert order == list(range(20))
    counters.close()


def test_a_writer_that_fails_hands_its_turn_on(counters: Database) -> None:
    def write(_n: int) -> None:
        with broken_off(counters) as session:
            session.execute(text("INSERT INTO counter VALUES (1)"))

    at_once(write, range(40))
    with counters.writing() as session:
        assert session.scalar(text("SELECT count(*) FROM counter")) == 0
    counters.close()
