"""The one place where the parts of a worker process are put together."""

import functools
import logging

from db.session import Database
from db.settings import DatabaseSettings, PlantSettings, settings_or_exit
from producers.settings import BrokerSettings
from tools.sources import Sources
from worker.agent.graph import build_agent
from worker.agent.models import chat_model
from worker.line.handler import Handler
from worker.process.loop import LoopThread
from worker.settings import AgentSettings, WorkerSettings

logger = logging.getLogger(__name__)


class Line:
    """A worker process's parts: settings, database, event loop, handler."""

    def __init__(self) -> None:
        self.broker = settings_or_exit(BrokerSettings)
        self.worker = settings_or_exit(WorkerSettings)
        self.plant = settings_or_exit(PlantSettings)
        limits = settings_or_exit(AgentSettings)
        self.database = Database(settings_or_exit(DatabaseSettings).database_url)
        self._sources = Sources(self.database)
        self._loop = LoopThread(self.worker.worker_concurrency)
        self._handler = self._loop.run(self._build(limits))

    async def _build(self, limits: AgentSettings) -> Handler:
        if limits.llm_model is None:
            logger.info("the runbook plans every order: LLM_MODEL is not set")
        else:
            logger.info("%s plans the orders, the runbook finishes them", limits.llm_model)
        agent = build_agent(chat_model(limits), limits, self.plant.plant_language)
        return Handler(agent, self._sources, self.plant, limits, self.worker)

    def handle(self, alarm_id: int) -> str:
        """One attempt at one alarm, from a task's thread; what became of it."""
        return self._loop.run(self._handler.handle(alarm_id))

    def claim_probe(self, token: str) -> str:
        """The same for a probe."""
        return self._loop.run(self._handler.claim_probe(token))

    def running(self) -> int:
        return self._handler.running

    def stop(self, grace_seconds: float) -> None:
        """Claim nothing more from now on, and after the grace time end what still runs. Returns at once."""
        self._handler.stop_claiming()
        self._loop.loop.call_soon_threadsafe(
            self._loop.loop.call_later, grace_seconds, self._handler.cancel_runs
        )


@functools.cache
def line() -> Line:
    """The process's line, built at first use: by the bootstep, before any task's thread can ask for it."""
    return Line()
