"""How a source is asked: three tries, a limit in time, so many at once; and a cancellation passes."""

import asyncio
import logging
import threading
import time

import pytest
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

import tools.sources
from db.session import Database
from tests.helpers.questions import Failing, Hanging, one
from tools.sources import TRIES, SourceDownError, Sources

FEW_SECONDS = 6.0
only_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@only_sqlite
@pytest.mark.parametrize(
    "error",
    [OperationalError("SELECT 1", {}, Exception("disk I/O error")), ValueError("x"), RecursionError()],
)
def test_a_source_is_tried_three_times_whatever_it_raises(database: Database, error: Exception) -> None:
    question = Failing(TRIES, error)
    with pytest.raises(SourceDownError) as down:
        asyncio.run(Sources(database).ask(question))
    assert question.asked == TRIES == 3
    assert down.value.cause == type(error).__name__


@only_sqlite
@pytest.mark.parametrize("times", [1, 2])
def test_a_hiccup_is_got_over(database: Database, times: int) -> None:
    question = Failing(times, OSError())
    assert asyncio.run(Sources(database).ask(question)) == 1
    assert question.asked == times + 1


@only_sqlite
def test_what_a_driver_says_of_a_fault_is_not_passed_on(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """A connection error's text holds the server's address, and may hold more."""
    caplog.set_level(logging.DEBUG)
    with pytest.raises(SourceDownError) as down:
        asyncio.run(Sources(database).ask(Failing(9, SQLAlchemyError("password=S3CRET"))))
    assert "S3CRET" not in str(down.value)
    assert "S3CRET" not in caplog.text
    assert "SQLAlchemyError" in caplog.text


@only_sqlite
def test_a_question_that_never_returns_is_left_behind_and_others_are_answered(
    database: Database, hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools.sources, "BACKSTOP_SECONDS", 0.2)

    async def both() -> tuple[BaseException | int, int]:
        sources = Sources(database, width=1)
        stuck = asyncio.create_task(sources.ask(hanging))
        outcome = (await asyncio.gather(stuck, return_exceptions=True))[0]
        answer = await sources.ask(one)
        hanging.released.set()
        return outcome, answer

    begun = time.monotonic()
    outcome, answer = asyncio.run(both())
    assert time.monotonic() - begun < FEW_SECONDS
    assert isinstance(outcome, SourceDownError)
    assert outcome.cause == "TimeoutError"
    assert answer == 1
    assert hanging.asked == TRIES


@only_sqlite
def test_a_cancellation_passes_at_once_and_is_not_tried_again(database: Database, hanging: Hanging) -> None:
    async def cancelled() -> bool:
        task = asyncio.create_task(Sources(database).ask(hanging))
        assert await asyncio.to_thread(hanging.begun.wait, 5)
        task.cancel()
        begun = time.monotonic()
        done, _pending = await asyncio.wait([task], timeout=5)
        assert done
        assert time.monotonic() - begun < 1
        hanging.released.set()
        return task.cancelled()

    assert asyncio.run(cancelled())
    assert hanging.asked == 1


@only_sqlite
def test_a_cancellation_passes_between_two_tries_too(database: Database) -> None:
    question = Failing(TRIES, OSError())

    async def cancelled() -> bool:
        task = asyncio.create_task(Sources(database).ask(question))
        assert await asyncio.to_thread(question.begun.wait, 5)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(cancelled())


@only_sqlite
def test_an_outer_deadline_ends_a_look_up_and_is_the_callers(database: Database, hanging: Hanging) -> None:
    async def bounded() -> None:
        try:
            async with asyncio.timeout(0.2):
                await Sources(database).ask(hanging)
        finally:
            hanging.released.set()

    with pytest.raises(TimeoutError):
        asyncio.run(bounded())
    assert hanging.asked == 1


@only_sqlite
def test_no_more_than_its_width_are_asked_at_once(database: Database) -> None:
    """Three at once, as the barrier wants, and never a fourth."""
    lock, together = threading.Lock(), threading.Barrier(3)
    now, most = 0, 0

    def question(session: Session) -> int:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        together.wait(1.5)
        with lock:
            now -= 1
        return one(session)

    async def many() -> list[int]:
        sources = Sources(database, width=3)
        return await asyncio.gather(*(sources.ask(question) for _ in range(39)))

    assert asyncio.run(many()) == [1] * 39
    assert most == 3
