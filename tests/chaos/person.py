"""Somebody who works the orders off meanwhile, so that faults end, and come back."""

import threading
from datetime import UTC, datetime
from random import Random
from types import TracebackType
from typing import Self

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from db.errors import DatabaseError
from db.models import WorkOrder
from db.models.order import OrderStatus
from db.queries.orders.transitions import set_status
from db.session import Database

PAUSE_SECONDS = 0.5
COMPLETED = (OrderStatus.READY, OrderStatus.DISPATCHED, OrderStatus.RUNNING, OrderStatus.COMPLETED)
WAYS = (
    COMPLETED,
    (OrderStatus.CANCELLED,),
    (*COMPLETED, OrderStatus.RUNNING),
    (*COMPLETED, OrderStatus.CLOSED),
)


class Person:
    """A thread that takes a waiting order at random, twice a second, and moves it on."""

    def __init__(self, database: Database, random: Random) -> None:
        self.moved = 0
        self._database, self._random = database, random
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="person", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._over.wait(PAUSE_SECONDS):
            try:
                self._move_one()
            except (SQLAlchemyError, DatabaseError):  # the database is away, or somebody else was quicker
                continue

    def _move_one(self) -> None:
        with self._database.reading() as session:
            waiting = select(WorkOrder.order_id).where(WorkOrder.status == OrderStatus.WAITING)
            order_id = session.scalar(waiting.order_by(func.random()).limit(1))
        if order_id is None:
            return
        for status in self._random.choice(WAYS):
            with self._database.writing() as session:
                set_status(session, order_id, status, "somebody", "", datetime.now(UTC))
        self.moved += 1
