"""Step 2: who is on duty on the alarm's line at the alarm's moment."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from langchain.tools import ToolRuntime, tool
from sqlalchemy.orm import Session

from db.models.order import StepName
from db.models.plant import RosterEntry
from db.queries import plant
from tools.catalogue import listed, text
from tools.context import AlarmContext
from tools.look_up import look_up
from tools.result import OnDuty, ShiftFacts, ToolResult

LONGEST_ATTEMPT = timedelta(hours=1)
"""Between this look-up and the order a shift may end, and the order goes to who is on duty then."""


@tool(response_format="content_and_artifact")
async def query_shift(
    runtime: ToolRuntime[AlarmContext], line: str = "", date: str = ""
) -> tuple[str, ToolResult]:
    """Ask the roster who is on duty on this alarm's line at the time of the alarm.

    It always asks about this alarm's own line and time; both arguments may be left out.
    """
    context = runtime.context
    question = context.ledger.question(StepName.QUERY_SHIFT)
    result = await look_up(context, question, lambda session: answer(context, session, datetime.now(UTC)))
    return result.to_text(), result


def answer(context: AlarmContext, session: Session, now: datetime) -> ToolResult:
    """One look at the roster serves both moments: the alarm's, and the order's, which is soon."""
    language, zone, line = context.language, context.plant.zone, context.alarm.line_name
    moments = (context.alarm.occurred_at, now, now + LONGEST_ATTEMPT)
    entries = plant.roster(session, line, {day for moment in moments for day in _dates(moment, zone)})
    at_alarm, at_once, soon = (on_duty(entries, moment, zone) for moment in moments)
    moment_text = context.occurred_at_plant.strftime("%Y-%m-%d %H:%M")
    facts = ShiftFacts(on_duty=at_alarm, on_duty_now=at_once + [duty for duty in soon if duty not in at_once])
    if not at_alarm:
        return ToolResult.not_found(
            text(language, "shift.not_found", line=line, moment=moment_text),
            text(language, "shift.next_missing"),
            facts,
        )
    people = listed(language, [f"{duty.person} ({duty.shift})" for duty in at_alarm])
    return ToolResult.success(
        text(language, "shift.found", line=line, moment=moment_text, people=people),
        text(language, "shift.next"),
        facts,
    )


def on_duty(entries: Iterable[RosterEntry], moment: datetime, zone: ZoneInfo) -> list[OnDuty]:
    """Those whose shift holds the moment: from its first instant on, up to but without its last, so
    that the hand-over minute belongs to the shift that begins. Compared in UTC, since two local times
    across a change of the clocks are not what their difference says."""
    found = []
    for entry in entries:
        starts = datetime.combine(entry.shift_date, entry.starts, zone)
        last_day = entry.shift_date + timedelta(days=entry.ends <= entry.starts)
        ends = datetime.combine(last_day, entry.ends, zone)
        if starts.astimezone(UTC) <= moment.astimezone(UTC) < ends.astimezone(UTC):
            found.append(
                OnDuty(
                    person=entry.person, phone=entry.phone, shift=entry.shift_name, starts=starts, ends=ends
                )
            )
    return found


def _dates(moment: datetime, zone: ZoneInfo) -> tuple[date, date]:
    """The plant's date of a moment, and the day before, whose night shift may still run."""
    day = moment.astimezone(zone).date()
    return (day - timedelta(days=1), day)
