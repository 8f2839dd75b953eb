"""The account of each attempt, and the flags of an order, through the whole path and in both databases."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from db.errors import AmbiguousEvent, UnknownOrder
from db.models import AgentRun
from db.queries.alarms import lease, runs
from db.queries.orders.accounts import accounts
from db.session import Database
from db.settings import PlantSettings
from tests.helpers.endpoint import (
    SECRET,
    Behaviour,
    Conversation,
    Endpoint,
    Message,
    Reply,
    good,
    good_calls,
    says,
)
from tests.helpers.line import Line, close_models
from tests.helpers.support import NOW, accepted, an_alarm, claimed, settled
from tools.context import AlarmContext
from tools.sources import Sources
from tools.trace import MAX_BYTES
from worker.agent.graph import Agent
from worker.line.handler import Handler
from worker.settings import AgentSettings, WorkerSettings

DIAGNOSIS = "整机老化C线 也报 E999，见 WO-19990101-0001；E401 触摸屏 24V 掉电"


def lies(conversation: Conversation) -> Message:
    """A perfect model but for what it says in the order."""
    words = {"diagnosis": DIAGNOSIS, "actions": ["断电", "参照 E402，拧紧 M6 螺丝"]}
    calls = good_calls(conversation)
    return says("", *((name, words if name == "generate_work_order" else own) for name, own in calls))


def chatters(conversation: Conversation) -> Message:
    """Says what it must not know, and a great deal of it, and goes its own ways."""
    said = f"{SECRET} 13812345678 a@b.com " + "x" * 30_000
    return says(said, *good_calls(conversation), ("query_shift", {"phone": "13812345678", SECRET: SECRET}))


def breaks(conversation: Conversation) -> Message | Reply:
    return Reply.error(500, "broken") if conversation.request == 1 else good(conversation)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    behaviours: dict[str, Behaviour] = {"good": good, "lies": lies, "chatters": chatters, "breaks": breaks}
    with Endpoint(behaviours | {"stops": lambda _conversation: says("抱歉")}) as server:
        yield server
        close_models()


def account(database: Database, event_or_order: str) -> dict[str, Any]:
    with database.reading() as session:
        return accounts(session, event_or_order)


def the_run(database: Database, order: dict[str, Any]) -> dict[str, Any]:
    [run] = account(database, order["order_id"])["runs"]
    return cast(dict[str, Any], run)


def worked(database: Database, endpoint: Endpoint, model: str) -> dict[str, Any]:
    return Line(database, model, endpoint.url, openai_api_key=SECRET).order(an_alarm())


def kinds(run: dict[str, Any]) -> list[str]:
    return [entry["kind"] for entry in run["trace"]]


def test_a_good_run_is_told_turn_by_turn_with_who_answered(plant: Database, endpoint: Endpoint) -> None:
    run = the_run(plant, worked(plant, endpoint, "good"))
    turns = [(entry["by"], entry["call"]) for entry in run["trace"] if entry["kind"] == "model"]
    assert turns == [("good", 1), ("good", 2), ("good", 3)]
    answers = {(e["name"], e["status"], e["by"]) for e in run["trace"] if e["kind"] == "tool"}
    assert answers == {
        ("search_manual", "success", "source"),
        ("query_shift", "not_found", "source"),
        ("query_spare_parts", "success", "source"),
        ("generate_work_order", "success", "settlement"),
    }
    assert kinds(run)[0] == "alarm"
    assert "交互屏贴合机A1" in run["trace"][0]["text"]
    assert run["trace"][-1]["outcome"].startswith("settled: WO-")
    assert (run["model_calls"], run["input_tokens"], run["planner"]) == (3, 300, "good")


def test_a_failed_request_a_reminder_and_a_handover_stand_where_they_came(
    plant: Database, endpoint: Endpoint
) -> None:
    run = the_run(plant, worked(plant, endpoint, f"breaks@{plant.url.get_backend_name()}"))
    assert kinds(run)[:3] == ["alarm", "failure", "model"]
    failure = run["trace"][1]
    assert failure["call"] == 1
    assert failure["error"].endswith("Error 500")
    run = the_run(plant, worked(plant, endpoint, "stops"))
    assert kinds(run)[:6] == ["alarm", "model", "reminder", "model", "handover", "model"]
    assert run["trace"][4]["reason"] == run["handover_reason"] == "stopped_early"
    assert {e["by"] for e in run["trace"][5:] if e["kind"] == "model"} == {"runbook"}


def test_neither_key_nor_personal_data_nor_more_than_its_bound_is_stored(
    plant: Database, endpoint: Endpoint
) -> None:
    run = the_run(plant, worked(plant, endpoint, "chatters"))
    written = json.dumps(run["trace"])
    assert len(written) <= MAX_BYTES
    assert "*** *** ***" in written
    assert not any(secret in written for secret in (SECRET, "13812345678", "a@b.com"))
    assert "ledger" in {entry.get("by") for entry in run["trace"]}


def test_what_a_models_words_name_that_is_not_the_alarms_is_flagged_and_its_words_are_kept(
    plant: Database, endpoint: Endpoint
) -> None:
    order = worked(plant, endpoint, "lies")
    assert (order["diagnosis"], order["planner"]) == (DIAGNOSIS, "lies")
    assert [(flag["kind"], flag["text"], flag["where"]) for flag in order["diagnosis_flags"]] == [
        ("order", "WO-19990101-0001", "diagnosis"),
        ("line", "整机老化C线", "diagnosis"),
        ("code", "E999", "diagnosis"),
        ("code", "E402", "actions[1]"),
    ]
    for model in ("good", "stops"):
        assert worked(plant, endpoint, model)["diagnosis_flags"] == []


def test_without_the_plants_tables_what_is_plain_is_flagged_all_the_same(
    plant: Database, endpoint: Endpoint
) -> None:
    with plant.writing() as session:
        for table in ("equipment", "manual_entry", "roster_entry"):
            session.execute(text(f"DROP TABLE {table}"))
    flagged = {flag["text"] for flag in worked(plant, endpoint, "lies")["diagnosis_flags"]}
    assert flagged == {"WO-19990101-0001", "老化C线", "E999", "E402"}


def ended(database: Database, alarm_id: int, run: Callable[[Handler, AlarmContext], Awaitable[None]]) -> str:
    """What becomes of an attempt whose run is this."""

    async def handled() -> str:
        class Runs:
            async def ainvoke(self, _state: object, _config: object, context: AlarmContext) -> None:
                context.run.model_calls = 2
                await run(own, context)

        limits = AgentSettings(_env_file=None, llm_model="a-model")
        plant, worker = PlantSettings(_env_file=None), WorkerSettings(_env_file=None, lease_seconds=1)
        own = Handler(cast(Agent, Runs()), Sources(database), plant, limits, worker)
        async with asyncio.timeout(30):
            return await own.handle(alarm_id)

    return asyncio.run(handled())


async def _fails(_handler: Handler, _context: AlarmContext) -> None:
    raise RuntimeError("a secret")


async def _is_stopped(own: Handler, _context: AlarmContext) -> None:
    own.stop_claiming()
    own.cancel_runs()
    await asyncio.Event().wait()


async def _is_taken_over(own: Handler, context: AlarmContext) -> None:
    later = datetime.now(UTC) + timedelta(seconds=10)
    alarm_id = context.alarm.id
    with context.sources.database.writing() as session:
        assert lease.claim(session, alarm_id, "another", later, timedelta(hours=1)) is not None
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("run", "outcome", "end"),
    [
        (_fails, "failed", "failed: RuntimeError, again in 2 s"),
        (_is_stopped, "given_back", "given back: this worker is stopping"),
        (_is_taken_over, "lapsed", "fenced out: attempt 1 no longer holds the lease"),
    ],
)
def test_an_attempt_without_an_order_keeps_its_account_and_its_cost(
    database: Database, run: Callable[[Handler, AlarmContext], Awaitable[None]], outcome: str, end: str
) -> None:
    [alarm_id] = accepted(database, an_alarm(event_id="evt-1"), now=datetime.now(UTC))
    assert ended(database, alarm_id, run) == end
    told = account(database, "evt-1")
    first = told["runs"][0]
    assert (told["order_id"], first["outcome"], first["model_calls"]) == (None, outcome, 2)
    assert [entry["kind"] for entry in first["trace"]] == ["alarm", "end"]
    assert first["trace"][-1]["outcome"] == end
    assert "a secret" not in json.dumps(first["trace"])
    assert all(later["trace"] is None for later in told["runs"][1:])


def test_an_account_that_cannot_be_kept_changes_nothing(
    plant: Database, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_down(*_args: Any, **_more: Any) -> bool:
        raise OperationalError("", None, Exception())

    monkeypatch.setattr(runs, "store_trace", is_down)
    order = worked(plant, endpoint, "good")
    assert the_run(plant, order)["trace"] is None


def test_accounts_are_found_by_order_and_by_event_with_every_attempt(database: Database) -> None:
    [alarm_id] = accepted(database, an_alarm(event_id="evt-1", source="a"), now=NOW)
    accepted(database, an_alarm(event_id="evt-1", source="b"), now=NOW)
    first = claimed(database, alarm_id)
    with database.writing() as session:
        lease.give_back(session, alarm_id, first, NOW)
        nasty = "\0\ud800 字"
        assert runs.store_trace(session, alarm_id, first, [{"kind": "reminder", "text": nasty}], planner="m")
        assert not runs.store_trace(session, alarm_id, 99, [])
    order_id = settled(database, alarm_id, claimed(database, alarm_id))
    with database.reading() as session:
        told = accounts(session, order_id.lower())
        assert told == accounts(session, "evt-1", "a")
        assert [(run["attempt"], run["outcome"]) for run in told["runs"]] == [
            (1, "given_back"),
            (2, "settled"),
        ]
        assert told["runs"][0]["trace"] == [{"kind": "reminder", "text": "\ufffd\ufffd 字"}]
        assert accounts(session, "evt-1", "b")["runs"] == []
        with pytest.raises(AmbiguousEvent):
            accounts(session, "evt-1")
        for unknown in (("WO-1", None), (order_id, "b")):
            with pytest.raises(UnknownOrder):
                accounts(session, *unknown)


def test_a_run_is_read_without_its_account_unless_it_is_asked_for(database: Database) -> None:
    with database.reading() as session:
        assert "trace" not in str(select(AgentRun).compile(session.get_bind()))
