"""A database for each run: the sample plant, without what the scenario lacks."""

import itertools
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from sqlalchemy import URL, Table, delete

from db.migrate import upgrade
from db.models import Base, ManualEntry, RosterEntry, SparePart
from db.plant import load
from db.session import Database
from worker.eval.scenarios import Missing

_EMPTY: dict[Missing, tuple[type[Base], ...]] = {
    "manual": (ManualEntry,),
    "roster": (RosterEntry,),
    "parts": (SparePart,),
    "all three": (ManualEntry, RosterEntry, SparePart),
}
_DOWN: dict[Missing, type[Base]] = {
    "manual down": ManualEntry,
    "roster down": RosterEntry,
    "parts down": SparePart,
}


class Plants:
    """SQLite files in a folder: one for each state of the data, and the copies that alarms are handled in."""

    def __init__(self, folder: Path, states: Iterable[Missing]) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        whole = folder / "whole.db"
        with _opened(whole) as database:
            upgrade(database)
            load(database)
        for state in dict.fromkeys(states):
            shutil.copyfile(whole, self._file(state))
            with _opened(self._file(state)) as database:
                _take_out(database, state)

    @contextmanager
    def database(self, state: Missing) -> Iterator[Database]:
        """A fresh one, gone when the scope ends."""
        copy = self._folder / f"run-{next(self._numbers)}.db"
        shutil.copyfile(self._file(state), copy)
        try:
            with _opened(copy) as database:
                yield database
        finally:
            copy.unlink()

    def _file(self, state: Missing) -> Path:
        return self._folder / f"missing {state}.db"


@contextmanager
def _opened(file: Path) -> Iterator[Database]:
    """Closed at its end: with its last connection SQLite puts everything into the one file."""
    database = Database(URL.create("sqlite", database=str(file)).render_as_string(hide_password=False))
    try:
        yield database
    finally:
        database.close()


def _take_out(database: Database, state: Missing) -> None:
    with database.writing() as session:
        for emptied in _EMPTY.get(state, ()):
            session.execute(delete(emptied))
    if state in _DOWN:
        cast(Table, _DOWN[state].__table__).drop(database.engine)
