"""Alarms through the whole path, from claim to order, one for each misbehaviour."""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langchain_core.language_models import BaseChatModel
from sqlalchemy import select

from db.models import AgentRun
from db.queries.alarms.intake import NewAlarm
from db.queries.orders import reading as orders
from db.session import Database
from db.settings import PlantSettings
from tests.helpers.endpoint import Endpoint
from tests.helpers.line import shared_loop
from tests.helpers.support import accepted, an_alarm
from tests.misbehaviour import injection
from tests.misbehaviour.elsewhere import Elsewhere
from tests.misbehaviour.states import LINE
from tools.sources import Sources
from worker.agent.graph import Agent, build_agent
from worker.agent.models import chat_model, close
from worker.line.handler import Handler
from worker.settings import AgentSettings, WorkerSettings

AT_ONCE = 64
AFRESH = ("endpoint", "slow endpoint", "any")
QUICK = AgentSettings(llm_timeout_seconds=20)
SLOW = AgentSettings(llm_timeout_seconds=20, agent_deadline_seconds=2)
PLANT = PlantSettings(plant_language="zh", plant_timezone="Asia/Shanghai")
MESSAGE = "触摸屏无响应"


@dataclass(frozen=True)
class Case:
    """One alarm and the model that it is given to."""

    name: str  # "kind/name of the misbehaviour", or "good"
    message: str = MESSAGE

    @classmethod
    def of(cls, name: str) -> "Case":
        return cls(name, injection.message_of(name.partition("/")[2]) or MESSAGE)

    @property
    def kind(self) -> str:
        return self.name.partition("/")[0]

    @property
    def limits(self) -> AgentSettings:
        return SLOW if self.kind.startswith("slow") else QUICK

    def alarm(self, occurred_at: datetime) -> NewAlarm:
        own = {"message": self.message, "occurred_at": occurred_at}
        return an_alarm(line_name=LINE, equipment="交互屏贴合机B1", **own)


@dataclass(frozen=True)
class End:
    """What became of one alarm."""

    case: Case
    outcome: str
    order: dict[str, Any]
    seconds: float
    requests: int


class Bench:
    """Keeps a client and an agent for each model, which all states of the data share."""

    def __init__(self, endpoint: Endpoint | Elsewhere) -> None:
        self.endpoint = endpoint
        self._began = datetime.now(UTC)
        self._base = chat_model(self._limits(Case("good")))
        self._models: dict[str, BaseChatModel] = {}
        self._agents: dict[str, Agent] = {}

    def run(self, database: Database, cases: Sequence[Case]) -> list[End]:
        """Each case's alarm worked through, many at once."""
        before = Counter(self.endpoint.requests)
        alarms = [case.alarm(self._began) for case in cases]
        ids = accepted(database, *alarms, now=datetime.now(UTC), each_leads=True)
        outcomes = shared_loop().run(self._work(database, cases, ids))
        after = self.endpoint.requests
        runs = select(AgentRun.alarm_id, AgentRun.started_at, AgentRun.ended_at)
        with database.reading() as session:
            attempts = session.execute(runs.where(AgentRun.alarm_id.in_(ids))).all()
            assert len(attempts) == len(cases), outcomes
            took = {own: (ended - started).total_seconds() for own, started, ended in attempts if ended}
            return [
                End(
                    case,
                    outcome,
                    orders.show(session, alarm.event_id, alarm.source) if "settled" in outcome else {},
                    took.get(alarm_id, math.inf),
                    after[case.name] - before[case.name],
                )
                for case, alarm, alarm_id, outcome in zip(cases, alarms, ids, outcomes, strict=True)
            ]

    async def _work(self, database: Database, cases: Sequence[Case], ids: Sequence[int]) -> list[str]:
        sources, room = Sources(database, width=16), asyncio.Semaphore(AT_ONCE)

        async def one(case: Case, alarm_id: int) -> str:
            async with room:
                limits = self._limits(case)
                handler = Handler(self._agent(case, limits), sources, PLANT, limits, WorkerSettings())
                return await handler.handle(alarm_id)

        return list(await asyncio.gather(*map(one, cases, ids)))

    def _limits(self, case: Case) -> AgentSettings:
        own = {"llm_model": case.name, "openai_base_url": self.endpoint.url}
        return case.limits.model_copy(update=own)

    def _agent(self, case: Case, limits: AgentSettings) -> Agent:
        if case.name not in self._models:
            # One client for all of them: each costs a reading of every certificate.
            self._models[case.name] = self._base.model_copy(update={"model_name": case.name})
        # An agent leaves an endpoint alone that kept failing; each state of the data begins anew.
        if case.name not in self._agents or case.kind in AFRESH:
            self._agents[case.name] = build_agent(self._models[case.name], limits, PLANT.plant_language)
        return self._agents[case.name]

    def close(self) -> None:
        shared_loop().run(close(self._base))
