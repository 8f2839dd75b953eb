"""A source that is down: it is not asked by everybody, one alarm hears soon that it is back."""

import asyncio
import time

import pytest

import tools.sources
from db.session import Database
from tests.helpers.questions import Failing, Hanging, one
from tools.sources import TRIES, SourceDownError, Sources

FEW_SECONDS = 6.0
only_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


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
