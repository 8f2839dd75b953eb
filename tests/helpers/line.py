"""The line from claim to order in the test's own process: real tools and database, HTTP to the model."""

import asyncio
import functools
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any

from langchain_core.language_models import BaseChatModel
from sqlalchemy import event as sql_event

from db.queries.alarms.intake import NewAlarm
from db.queries.orders import reading as orders
from db.session import Database
from db.settings import PlantSettings
from tests.helpers.support import accepted
from tools.sources import Sources
from worker.agent.graph import build_agent
from worker.agent.models import chat_model, close
from worker.line.handler import Handler
from worker.process.loop import LoopThread
from worker.settings import AgentSettings, WorkerSettings


@functools.cache
def shared_loop() -> LoopThread:
    """One loop for all tests, as in a worker: the model client's connections live on it."""
    return LoopThread(concurrency=128)


_models: list[BaseChatModel] = []


def close_models() -> None:
    while _models:
        shared_loop().run(close(_models.pop()))


class Line:
    """Hands alarms to a handler and reads back their orders."""

    def __init__(
        self,
        database: Database,
        model: str | None = None,
        endpoint_url: str | None = None,
        language: str = "zh",
        **limits: Any,
    ) -> None:
        self.database = database
        settings = AgentSettings(llm_model=model, openai_base_url=endpoint_url, **limits)
        plant = PlantSettings(plant_language=language, plant_timezone="Asia/Shanghai")
        self.handler = shared_loop().run(self._build(settings, plant))

    async def _build(self, settings: AgentSettings, plant: PlantSettings) -> Handler:
        model = chat_model(settings)
        _models.append(model)
        agent = build_agent(model, settings, plant.plant_language)
        return Handler(agent, Sources(self.database), plant, settings, WorkerSettings())

    def start(self, *alarms: NewAlarm) -> Future[list[str]]:
        ids = accepted(self.database, *alarms, now=datetime.now(UTC))
        return asyncio.run_coroutine_threadsafe(self._all(ids), shared_loop().loop)

    async def _all(self, ids: Sequence[int]) -> list[str]:
        return list(await asyncio.gather(*(self.handler.handle(alarm_id) for alarm_id in ids)))

    def order(self, alarm: NewAlarm) -> dict[str, Any]:
        """The alarm worked through; its order as `work-orders show --json` has it."""
        (outcome,) = self.start(alarm).result()
        assert outcome.startswith("settled"), outcome
        with self.database.reading() as session:
            return orders.show(session, alarm.event_id, alarm.source)


class LookUps:
    """Counts the statements that ask one of the plant's tables."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.asked: list[str] = []

    def __enter__(self) -> "LookUps":
        sql_event.listen(self.database.engine, "before_cursor_execute", self._note)
        return self

    def __exit__(self, *_exc: object) -> None:
        sql_event.remove(self.database.engine, "before_cursor_execute", self._note)

    def _note(self, _conn: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        self.asked.append(statement)

    def of(self, table: str) -> int:
        """Statements that read its rows; the look for a line's spelling is part of the same look-up."""
        return sum(f"FROM {table}" in statement and "DISTINCT" not in statement for statement in self.asked)


def statuses(order: dict[str, Any]) -> dict[str, str]:
    return {step["step"]: step["status"] for step in order["steps"]}
