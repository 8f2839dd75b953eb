"""One alarm, start to end: claim it, run the agent over it, and see it settled or given back."""

import asyncio
import logging
import os
import socket
from datetime import UTC, datetime, timedelta

from sqlalchemy.exc import SQLAlchemyError

from db.errors import LeaseLost
from db.queries import lease, plant
from db.queries.lease import ClaimedAlarm
from db.settings import PlantSettings
from tools.context import RUNBOOK, AlarmContext
from tools.sources import SourceDownError, Sources
from worker.agent import Agent, run_agent
from worker.settings import AgentSettings, WorkerSettings

logger = logging.getLogger(__name__)

DEADLINE_MARGIN_SECONDS = 2.0
"""After the model's time is over, for the runbook to finish in."""
RETRY_SECONDS = (2, 10, 30, 60)
"""Until the next attempt, by the number of failed ones before."""


class Handler:
    """Runs on the process's event loop; each call of `handle` is one attempt at one alarm."""

    def __init__(
        self,
        agent: Agent,
        sources: Sources,
        plant: PlantSettings,
        limits: AgentSettings,
        worker: WorkerSettings,
    ) -> None:
        self._agent = agent
        self._sources = sources
        self._plant = plant
        self._limits = limits
        self._lease = timedelta(seconds=worker.lease_seconds)
        self._owner = f"{socket.gethostname()}:{os.getpid()}"
        self._runs: set[asyncio.Task[None]] = set()
        self._stopping = False

    @property
    def running(self) -> int:
        return len(self._runs)

    async def handle(self, alarm_id: int) -> str:
        """What became of it, in a few words for the log. Faults of the database are the caller's."""
        now = datetime.now(UTC)
        if self._stopping:
            await self._sources.write(lambda session: lease.undispatch(session, alarm_id, now))
            return "not begun: this worker is stopping"
        alarm = await self._sources.write(
            lambda session: lease.claim(session, alarm_id, self._owner, now, self._lease)
        )
        if alarm is None:
            return "skipped: another attempt has it, or it is settled"
        context = await self._context(alarm)
        run = asyncio.create_task(self._attempt(context))
        self._runs.add(run)
        renewal = asyncio.create_task(self._renew(alarm, run))
        try:
            await run
        except (Exception, asyncio.CancelledError) as error:
            return await self._unsettled(context, error)
        finally:
            renewal.cancel()
            self._runs.discard(run)
        return f"settled: {context.ledger.order_id}"

    def cancel_runs(self) -> None:
        """End what still runs; each of them gives its lease back, uncounted."""
        for run in self._runs:
            run.cancel()

    def stop_claiming(self) -> None:
        self._stopping = True

    async def _context(self, alarm: ClaimedAlarm) -> AlarmContext:
        """The alarm's facts; without the equipment list they are only fewer."""
        try:
            known = await self._sources.ask(lambda session: plant.equipment(session, alarm.line_name))
        except SourceDownError:
            known = []
        context = AlarmContext.of(alarm, self._plant, self._sources, known)
        context.run.planner = self._limits.llm_model or RUNBOOK
        context.run.model_deadline = asyncio.get_running_loop().time() + self._limits.agent_deadline_seconds
        return context

    async def _attempt(self, context: AlarmContext) -> None:
        async with asyncio.timeout(self._limits.agent_deadline_seconds + DEADLINE_MARGIN_SECONDS):
            await run_agent(self._agent, context)

    async def _renew(self, alarm: ClaimedAlarm, run: asyncio.Task[None]) -> None:
        """Beside the run, three times a lease, and never past the attempt's deadline: a run that hangs
        all the same loses its lease. A lease that is lost ends the run."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._limits.agent_deadline_seconds + DEADLINE_MARGIN_SECONDS
        while not run.done() and clock() < deadline:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            try:
                held = await self._sources.write(
                    lambda session: lease.renew(
                        session, alarm.id, alarm.attempt, datetime.now(UTC), self._lease
                    )
                )
            except SQLAlchemyError as error:
                logger.warning("alarm %d: lease not renewed: %s", alarm.id, type(error).__name__)
                continue
            if not held:
                run.cancel("lease lost")

    async def _unsettled(self, context: AlarmContext, error: BaseException) -> str:
        """An attempt ended without an order: a clean stop gives it back, anything else is counted."""
        alarm, now = context.alarm, datetime.now(UTC)
        if context.ledger.order_id is not None:
            return f"settled: {context.ledger.order_id}"
        if isinstance(error, asyncio.CancelledError) and self._stopping:
            await self._sources.write(lambda session: lease.give_back(session, alarm.id, alarm.attempt, now))
            return "given back: this worker is stopping"
        if isinstance(error, LeaseLost | asyncio.CancelledError):
            return f"fenced out: attempt {alarm.attempt} no longer holds the lease"
        wait = RETRY_SECONDS[min(alarm.failures, len(RETRY_SECONDS) - 1)]
        logger.error("alarm %d: attempt %d failed", alarm.id, alarm.attempt, exc_info=error)
        name, retry_at = type(error).__name__, now + timedelta(seconds=wait)
        await self._sources.write(
            lambda session: lease.fail(session, alarm.id, alarm.attempt, now, retry_at, name)
        )
        return f"failed: {name}, again in {wait} s"
