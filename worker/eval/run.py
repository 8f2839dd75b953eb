"""One alarm for each scenario and set-up, from its acceptance to its order, each in a database of its own."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from sqlalchemy import select

from db.models import Alarm
from db.queries.alarms.intake import accept
from db.queries.orders import reading as orders
from db.session import Database
from db.settings import Language, PlantSettings
from producers.queue import FIELD
from tools.ledger import LOOK_UPS
from tools.sources import Sources
from worker.agent.graph import Agent
from worker.agent.models import close
from worker.eval.meter import Metered, count_requests
from worker.eval.plants import Plants
from worker.eval.scenarios import Scenario
from worker.eval.score import Order, Score, score
from worker.eval.setups import RUNBOOK, Setup
from worker.line.entries import Entry, sort_out
from worker.line.handler import Handler
from worker.settings import AgentSettings, WorkerSettings

_ENDS = {"GraphRecursionError": "recursion limit", "TimeoutError": "deadline", "NoOrderError": "no order"}


@dataclass(frozen=True)
class Job:
    scenario: Scenario
    setup: Setup
    limits: AgentSettings  # and which model


@dataclass(frozen=True)
class Run:
    """What came of one alarm, what it cost, and how it compares with a perfect model's."""

    job: Job
    ending: str
    score: Score
    requests: int  # to the endpoint, failed ones included
    look_ups: int  # that reached a source
    suppressed: int
    repaired: int
    handover_reason: str | None
    input_tokens: int
    output_tokens: int
    seconds: float

    def row(self) -> dict[str, Any]:
        """Flat, for JSON."""
        job, found = self.job, asdict(self)
        del found["job"]
        names = {"setup": job.setup.key, "scenario": job.scenario.name, "model": job.limits.llm_model}
        return {**names, **found.pop("score"), **found}


class Evaluation:
    """Used on one event loop. Agents are built once and shared by their alarms, as in a worker."""

    def __init__(self, folder: Path, jobs: Sequence[Job], plant: PlantSettings, at_once: int) -> None:
        self.jobs = jobs
        self.runs: list[Run] = []  # those that have ended
        self._plants = Plants(folder, (job.scenario.missing for job in jobs))
        self._plant = plant
        self._room = asyncio.Semaphore(at_once)
        self._now = datetime.now(UTC)
        self._models: dict[tuple[object, str | None], BaseChatModel] = {}
        self._agents: dict[tuple[str, str | None, Language], Agent] = {}
        self._perfect: dict[Scenario, Order] = {}

    async def work(self, tick: Callable[[], None]) -> None:
        """Every job done, with a `tick` after each; first, what a perfect model makes of each scenario."""
        try:
            await asyncio.gather(*map(self._learn, dict.fromkeys(job.scenario for job in self.jobs)))
            await asyncio.gather(*(self._one(job, tick) for job in self.jobs))
        finally:
            for model in self._models.values():
                await close(model)

    async def _learn(self, scenario: Scenario) -> None:
        """The runbook does what a perfect model would: nothing of the order but the words could differ."""
        job = Job(scenario, RUNBOOK, self.jobs[0].limits.model_copy(update={"llm_model": None}))
        async with self._room:
            with self._plants.database(scenario.missing) as database:
                await self._handled(job, database)
                (self._perfect[scenario],) = _orders(database)

    async def _one(self, job: Job, tick: Callable[[], None]) -> None:
        async with self._room:
            with self._plants.database(job.scenario.missing) as database:
                began = time.monotonic()
                metered = await self._handled(job, database)
                seconds = time.monotonic() - began
                found = score(_orders(database), self._perfect[job.scenario])
        self.runs.append(_run(job, metered, found, round(seconds, 3)))
        tick()

    async def _handled(self, job: Job, database: Database) -> Metered:
        """The alarm accepted and handled by the worker's own handler."""
        raw = job.scenario.event(self._now).to_json().encode()
        readable, unreadable = sort_out([Entry("1-0", [(FIELD.encode(), raw)])])
        with database.writing() as session:
            accept(session, readable, unreadable, self._now)
        with database.reading() as session:
            (alarm_id,) = session.scalars(select(Alarm.id)).all()
        plant = self._plant.model_copy(update={"plant_language": job.scenario.language})
        metered = Metered(self._agent(job), job.setup.plain, job.limits.agent_deadline_seconds)
        handler = Handler(cast(Agent, metered), Sources(database), plant, job.limits, WorkerSettings())
        await handler.handle(alarm_id)
        return metered

    def _agent(self, job: Job) -> Agent:
        setup, name, language = job.setup, job.limits.llm_model, job.scenario.language
        if (setup.model, name) not in self._models:
            self._models[setup.model, name] = model = setup.model(job.limits)
            if name is not None:
                count_requests(model)
        key = (setup.key, name, language)
        if key not in self._agents:
            self._agents[key] = setup.agent(self._models[setup.model, name], job.limits, language)
        return self._agents[key]


def _orders(database: Database) -> list[Order]:
    with database.reading() as session:
        return [orders.show(session, one["order_id"]) for one in orders.list_orders(session)]


def _run(job: Job, metered: Metered, found: Score, seconds: float) -> Run:
    context = metered.context
    assert context is not None
    ledger, run = context.ledger, context.run
    asked = [question for step in LOOK_UPS for question in ledger.asked_in(step)]
    return Run(
        job=job,
        ending=ending(found, metered.error),
        score=found,
        requests=metered.requests,
        look_ups=sum(question.calls for question in asked),
        suppressed=sum(question.suppressed for question in asked),
        repaired=sum(question.repaired for question in asked) + ledger.order_repaired,
        handover_reason=run.handover_reason,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        seconds=seconds,
    )


def ending(found: Score, error: str | None) -> str:
    """By kind: what orders there are, and the error that ended the run."""
    ended_by = _ENDS.get(error, error) if error is not None else "no order"
    if found.orders == 0:
        return ended_by
    orders = "right order" if found.correct else "wrong order" if found.orders == 1 else found.wrong[0]
    return orders if error is None else f"{orders}, then {ended_by}"
