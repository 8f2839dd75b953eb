"""How a source is asked: three tries, a limit in time, so many at once; and a cancellation passes."""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

import tools.sources
from db.session import Database
from tools.sources import TRIES, SourceDownError, Sources

FEW_SECONDS = 6.0
only_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


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


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    question = Hanging()
    yield question
    question.released.set()


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


@only_sqlite
def test_many_alarms_at_once_do_not_wait_for_each_others_tries_at_a_source_that_is_down(
    database: Database, hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools.sources, "BACKSTOP_SECONDS", 0.3)

    async def all_at_once() -> tuple[list[BaseException | int], int]:
        sources = Sources(database, width=1)
        asked = (sources.ask(hanging, "roster") for _ in range(40))
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        answer = await sources.ask(one, "manual")
        hanging.released.set()
        return outcomes, answer

    begun = time.monotonic()
    outcomes, other_source = asyncio.run(all_at_once())
    assert time.monotonic() - begun < FEW_SECONDS, "forty times three tries, one at a time, take 36 s"
    assert {type(outcome) for outcome in outcomes} == {SourceDownError}
    assert hanging.asked == TRIES
    assert other_source == 1


@only_sqlite
def test_a_source_that_was_down_is_asked_again_a_little_later(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools.sources, "REST_SECONDS", 0.2)
    question = Failing(TRIES, TimeoutError())

    async def until_it_is_back() -> int:
        sources = Sources(database)
        while True:
            try:
                return await sources.ask(question, "roster")
            except SourceDownError:
                await asyncio.sleep(0.05)

    assert asyncio.run(asyncio.wait_for(until_it_is_back(), FEW_SECONDS)) == 1
    assert question.asked == TRIES + 1


@only_sqlite
def test_of_many_alarms_one_looks_now_and_then_whether_a_source_is_back(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools.sources, "REST_SECONDS", 3600.0)
    monkeypatch.setattr(tools.sources, "LOOK_EVERY_SECONDS", 0.3)
    question = Failing(TRIES + 1, TimeoutError())

    async def until_all_are_answered() -> list[tuple[int, int]]:
        sources = Sources(database)
        seen = []
        for alarms in (1, 20, 20, 20):
            asked = (sources.ask(question, "roster") for _ in range(alarms))
            outcomes = await asyncio.gather(*asked, return_exceptions=True)
            seen.append((question.asked, outcomes.count(1)))
            await asyncio.sleep(0.35)
        return seen

    first, second, third, last = asyncio.run(until_all_are_answered())
    assert first == (TRIES, 0)
    assert second == (TRIES + 1, 0), "one of twenty looked, once"
    assert third[1] >= 1, "it is back"
    assert last[1] == 20


@only_sqlite
def test_nobody_else_looks_while_one_alarm_does(
    database: Database, hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools.sources, "BACKSTOP_SECONDS", 1.0)
    monkeypatch.setattr(tools.sources, "REST_SECONDS", 0.3)
    monkeypatch.setattr(tools.sources, "LOOK_EVERY_SECONDS", 0.1)

    async def asked_meanwhile() -> int:
        sources = Sources(database)
        with pytest.raises(SourceDownError):
            await sources.ask(Failing(TRIES, TimeoutError()), "roster")
        await asyncio.sleep(0.15)
        look = asyncio.create_task(sources.ask(hanging, "roster"))
        await asyncio.sleep(0.5)
        others = (sources.ask(hanging, "roster") for _ in range(20))
        assert not look.done()
        refused = await asyncio.gather(*others, return_exceptions=True)
        assert {type(error) for error in refused} == {SourceDownError}
        await asyncio.gather(look, return_exceptions=True)
        hanging.released.set()
        return hanging.asked

    assert asyncio.run(asked_meanwhile()) == 1


@only_sqlite
def test_a_question_that_cannot_be_answered_says_nothing_of_its_source(database: Database) -> None:
    async def one_after_the_other() -> int:
        sources = Sources(database)
        with pytest.raises(SourceDownError):
            await sources.ask(Failing(TRIES, ValueError("this alarm's own")), "roster")
        return await sources.ask(one, "roster")

    assert asyncio.run(one_after_the_other()) == 1
