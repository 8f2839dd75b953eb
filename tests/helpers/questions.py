"""Questions to a source that go wrong, as often and for as long as a test wants."""

import threading

from sqlalchemy import text
from sqlalchemy.orm import Session


def one(session: Session) -> int:
    return int(session.execute(text("SELECT 1")).scalar_one())


class Failing:
    """A question that fails so many times, and then is answered."""

    def __init__(self, times: int, error: Exception) -> None:
        self.times, self.error, self.asked = times, error, 0
        self.begun = threading.Event()

    def __call__(self, session: Session) -> int:
        self.asked += 1
        self.begun.set()
        if self.asked <= self.times:
            raise self.error
        return one(session)


class Hanging:
    """A question that no time limit of the database ends; `released` lets its threads go."""

    def __init__(self) -> None:
        self.asked, self.begun, self.released = 0, threading.Event(), threading.Event()

    def __call__(self, _session: Session) -> int:
        self.asked += 1
        self.begun.set()
        assert self.released.wait(60)
        return 0
