"""Dispatchers of the test's own database and broker."""

from collections.abc import Iterator

import pytest

from db.session import Database
from tests.helpers.backlog import MakeDispatcher, dispatchers


@pytest.fixture
def dispatcher(database: Database, broker_url: str) -> Iterator[MakeDispatcher]:
    with dispatchers(database, broker_url) as make:
        yield make
