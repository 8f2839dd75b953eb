"""One alarm, start to end: claim it, run the agent over it, and see it settled or given back."""

import asyncio
import contextlib
import logging
import os
import socket
from datetime import timedelta

from sqlalchemy.exc import SQLAlchemyError

from db.errors import LeaseLost
from db.models.order import RUNBOOK
from db.queries import plant
from db.queries.alarms import lease, probes, runs
from db.queries.alarms.lease import ClaimedAlarm
from db.queries.clock import now
from db.session import is_away
from db.settings import PlantSettings
from tools.context import AlarmContext
from tools.redaction import Redactor
from tools.sources import SourceDownError, Sources
from tools.trace import Trace
from worker.agent.graph import Agent, run_agent
from worker.process.backoff import brief
from worker.settings import AgentSettings, WorkerSettings

logger = logging.getLogger(__name__)

RUNBOOK_SECONDS = 30.0
"""After the model's time is over, for the runbook to finish in: two rounds of look-ups at sources that do not
answer, and a settlement that waits for its turn."""


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
        self._redactor = Redactor(plant.trace_redact, limits.secrets)
        self._owner = f"{socket.gethostname()}:{os.getpid()}"
        self._runs: set[asyncio.Task[None]] = set()
        self._stopping = False

    @property
    def running(self) -> int:
        return len(self._runs)

    async def claim_probe(self, token: str) -> str:
        """Takes a probe the way of an alarm's claim; what became of it."""
        claimed = await self._sources.write(lambda session: probes.claim(session, token, self._owner))
        return "claimed" if claimed else "skipped: it is claimed, or nobody waits for it"

    async def handle(self, alarm_id: int) -> str:
        """What became of it, in a few words for the log. Faults of the database are the caller's."""
        if self._stopping:
            await self._sources.write(lambda session: lease.undispatch(session, alarm_id, now(session)))
            return "not begun: this worker is stopping"
        # The clock is read once it is our turn to write: a lease must not run out while it waits for that.
        alarm = await self._sources.write(
            lambda session: lease.claim(session, alarm_id, self._owner, now(session), self._lease)
        )
        if alarm is None:
            return "skipped: another attempt has it, it has to wait, or it is settled"
        context = self._context(alarm)
        run = asyncio.create_task(self._attempt(context))
        self._runs.add(run)
        renewal = asyncio.create_task(self._renew(context, run))
        try:
            await run
            outcome = f"settled: {context.ledger.order_id}"
        except (Exception, asyncio.CancelledError) as error:
            outcome = await self._unsettled(context, error)
        finally:
            renewal.cancel()
            self._runs.discard(run)
        await self._keep_account(context, outcome)
        return outcome

    def cancel_runs(self) -> None:
        """End what still runs; each of them gives its lease back, uncounted."""
        for run in self._runs:
            run.cancel()

    def stop_claiming(self) -> None:
        self._stopping = True

    def _context(self, alarm: ClaimedAlarm) -> AlarmContext:
        context = AlarmContext.of(alarm, self._plant, self._sources)
        context.run.planner = self._limits.llm_model or RUNBOOK
        context.run.trace = Trace(self._redactor)
        return context

    async def _attempt(self, context: AlarmContext) -> None:
        async with asyncio.timeout(self._limits.agent_deadline_seconds + RUNBOOK_SECONDS):
            await self._learn_equipment(context)
            clock = asyncio.get_running_loop().time
            context.run.model_deadline = clock() + self._limits.agent_deadline_seconds
            await run_agent(self._agent, context)

    async def _learn_equipment(self, context: AlarmContext) -> None:
        """Without the equipment list, the alarm's facts are only fewer."""
        line_name = context.alarm.line_name
        with contextlib.suppress(SourceDownError):
            context.learn(
                await self._sources.ask(lambda session: plant.equipment(session, line_name), "equipment")
            )

    async def _renew(self, context: AlarmContext, run: asyncio.Task[None]) -> None:
        """Beside the run, three times a lease, and never past the attempt's deadline: a run that hangs
        all the same loses its lease. A lease that is lost ends the run, but for one that is being settled:
        there the settlement itself has ended it, or is fenced out by itself."""
        alarm = context.alarm
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._limits.agent_deadline_seconds + RUNBOOK_SECONDS
        while not run.done() and clock() < deadline:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            try:
                held = await self._sources.write(
                    lambda session: lease.renew(session, alarm.id, alarm.attempt, now(session), self._lease)
                )
            except SQLAlchemyError as error:
                logger.warning("alarm %d: lease not renewed: %s", alarm.id, type(error).__name__)
                continue
            if not held and not context.ledger.order_lock.locked():
                run.cancel("lease lost")

    async def _keep_account(self, context: AlarmContext, outcome: str) -> None:
        """Of every attempt that this process saw end; it is worth no failure of its own."""
        alarm, run = context.alarm, context.run
        run.trace.end(outcome)
        names = ("planner", "handover_reason", "model_calls", "input_tokens", "output_tokens")
        cost = {name: getattr(run, name) for name in names}
        try:
            await self._sources.write(
                lambda session: runs.store_trace(
                    session, alarm.id, alarm.attempt, run.trace.entries(), **cost
                )
            )
        except SQLAlchemyError as error:
            logger.warning("alarm %d: the account is not kept: %s", alarm.id, type(error).__name__)

    async def _unsettled(self, context: AlarmContext, error: BaseException) -> str:
        """An attempt ended without an order: a clean stop gives it back, anything else is counted."""
        alarm = context.alarm
        if context.ledger.order_id is not None:
            return f"settled: {context.ledger.order_id}"
        fenced_out = f"fenced out: attempt {alarm.attempt} no longer holds the lease"
        if isinstance(error, asyncio.CancelledError) and self._stopping:
            given_back = await self._sources.write(
                lambda session: lease.give_back(session, alarm.id, alarm.attempt, now(session))
            )
            return "given back: this worker is stopping" if given_back else fenced_out
        if isinstance(error, LeaseLost | asyncio.CancelledError):
            return fenced_out
        name = type(error).__name__
        wait = await self._sources.write(
            lambda session: lease.fail(session, alarm.id, alarm.attempt, now(session), name)
        )
        if wait is None:
            return fenced_out
        trace = None if is_away(error) else error
        logger.error("alarm %d: attempt %d failed: %s", alarm.id, alarm.attempt, brief(error), exc_info=trace)
        return f"failed: {name}, again in {wait.total_seconds():.0f} s"
