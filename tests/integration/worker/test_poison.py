"""Poison: set aside after three attempts, tried by the runbook alone, listed, and put back by a person."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update
from typer.testing import CliRunner, Result

from db.models import AgentRun, Alarm, WorkOrder
from db.models.alarm import AlarmStatus, RunOutcome
from db.queries.alarms import lease
from db.queries.alarms.dispatch import take_due
from db.queries.alarms.poison import list_poison
from db.queries.orders.accounts import accounts
from db.session import Database
from db.terminal import place
from tests.helpers.endpoint import Endpoint
from tests.helpers.line import Line, close_models
from tests.helpers.support import LEASE, NOW, accepted, an_alarm, claimed, count, settled
from worker.cli import app

REDISPATCH = timedelta(seconds=20)


@pytest.fixture(autouse=True)
def _settings(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("PLANT_TIMEZONE", "Asia/Shanghai")
    monkeypatch.setenv("COLUMNS", "160")
    yield
    close_models()


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["poison", *arguments])


def a_poison_alarm(database: Database, failures: int = 3, **facts: Any) -> int:
    """Its attempts failed by turns, or lapsed: the last one, where their number is odd, lapsed."""
    [row] = accepted(database, an_alarm(**facts))
    moment = NOW
    for number in range(failures):
        attempt = claimed(database, row, moment)
        with database.writing() as session:
            outcome = RunOutcome.FAILED if number % 2 else RunOutcome.LAPSED
            error = {"error": "ProgrammingError"} if number % 2 else {}
            assert lease.let_go(session, row, attempt, moment, outcome, **error) is not None
            moment = session.get_one(Alarm, row).next_attempt_at
    return row


def state(database: Database, alarm_id: int) -> Alarm:
    with database.reading() as session:
        return session.get_one(Alarm, alarm_id)


@pytest.mark.parametrize(("failures", "requests"), [(2, 3), (3, 0), (7, 0)])
def test_after_three_failures_the_runbook_alone_tries_and_the_endpoint_hears_nothing(
    plant: Database, failures: int, requests: int
) -> None:
    with Endpoint() as endpoint:
        line = Line(plant, "good", endpoint.url)
        alarm = an_alarm(equipment="交互屏贴合机A1")
        [row] = accepted(plant, alarm)
        with plant.writing() as session:
            session.execute(update(Alarm).values(failures=failures))
        order = line.order(alarm)
        assert endpoint.requests["good"] == requests
    assert state(plant, row).status is AlarmStatus.SETTLED
    expected = ("good", None) if requests else ("runbook", "poison")
    assert (order["planner"], order["handover_reason"]) == expected
    assert [step["status"] for step in order["steps"]] == ["success", "not_found", "success", "success"]
    with plant.reading() as session:
        [run] = accounts(session, order["order_id"])["runs"]
    assert (run["planner"], run["handover_reason"]) == expected
    handovers = [entry["reason"] for entry in run["trace"] if entry["kind"] == "handover"]
    assert handovers == ([] if requests else ["poison"])


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_without_a_model_a_poison_alarms_order_says_so_too(plant: Database) -> None:
    alarm = an_alarm()
    accepted(plant, alarm)
    with plant.writing() as session:
        session.execute(update(Alarm).values(failures=3))
    order = Line(plant).order(alarm)
    assert (order["planner"], order["handover_reason"]) == ("runbook", "poison")


def test_the_list_shows_the_worst_first_with_what_went_wrong(database: Database) -> None:
    mild = a_poison_alarm(database, severity=300, failures=4, event_id="evt-温和", fault_code="e-401")
    grave = a_poison_alarm(database, severity=200, event_id="evt-严重")
    with database.writing() as session:
        session.execute(update(Alarm).where(Alarm.id == grave).values(urgency=900))
    a_poison_alarm(database, failures=2)
    accepted(database, an_alarm())
    shown = call("list").output
    assert "evt-严重" in shown
    assert shown.index("evt-严重") < shown.index("evt-温和")
    assert "ProgrammingError" in shown
    assert "lapsed" in shown
    assert "08-04 10:3" in shown
    assert len(shown.splitlines()) == 4
    first, second = json.loads(call("list", "--json").output)
    assert (first["id"], second["id"]) == (grave, mild)
    assert (first["severity"], first["last_error"], first["failures"]) == (900, "lapsed", 3)
    assert second["last_error"] == "ProgrammingError"
    assert (second["fault_code"], second["native_code"]) == ("E401", "e-401")
    assert datetime.fromisoformat(second["next_attempt_at"]) == state(database, mild).next_attempt_at
    [only] = json.loads(CliRunner().invoke(app, ["poison", "list", "--json", "--limit", "1"]).stdout)
    assert only["id"] == grave


def test_an_alarm_that_is_tried_at_the_moment_is_listed_and_a_settled_one_is_not(database: Database) -> None:
    tried, ended = a_poison_alarm(database), a_poison_alarm(database)
    later = NOW + timedelta(hours=1)
    settled(database, ended, claimed(database, ended, later), now=later)
    claimed(database, tried, later)
    with database.reading() as session:
        listed = [(row["id"], row["status"]) for row in list_poison(session)]
    assert listed == [(tried, "running")]
    assert "now" in call("list").output


def test_an_empty_list_says_so(database: Database) -> None:
    accepted(database, an_alarm())
    assert call("list").output == f"no alarm is set aside as poison in {place(database.url)}\n"
    assert json.loads(call("list", "--json").output) == []


def test_what_an_alarm_says_does_nothing_to_a_terminal(database: Database) -> None:
    a_poison_alarm(database, line_name="线\x1b[2J\n", event_id="\u202e1")
    shown = call("list").output
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    retried = call("retry", "1", "--by", "张工").output
    assert len(retried.splitlines()) == 1


def test_a_retry_gives_the_model_another_go_and_is_kept_in_the_history(database: Database) -> None:
    rows = [a_poison_alarm(database, failures=4), a_poison_alarm(database)]
    before = datetime.now(UTC)
    done = call("retry", *map(str, rows), "--by", "张工")
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        f"alarm {row} (E401 on 交互屏组装A线): put back, by 张工" for row in rows
    ]
    for row in rows:
        alarm = state(database, row)
        assert (alarm.status, alarm.failures) == (AlarmStatus.WAITING, 0)
        assert before - timedelta(minutes=1) < alarm.next_attempt_at < datetime.now(UTC)
    with database.writing() as session:
        held = lease.claim(session, rows[0], "host-1", datetime.now(UTC), LEASE)
    assert held is not None
    assert (held.failures, held.is_poison, held.attempt) == (0, False, 6)
    with database.reading() as session:
        [*_, kept, _run] = accounts(session, alarm_event(database, rows[0]))["runs"]
    assert (kept["attempt"], kept["owner"], kept["outcome"]) == (5, "张工", "given_back")
    assert kept["trace"][0]["outcome"].startswith("put back by 张工: its 4 failures")
    assert json.loads(call("list", "--json").output) == []


def alarm_event(database: Database, alarm_id: int) -> str:
    return state(database, alarm_id).event_id


def test_the_history_of_a_retry_can_be_shown(database: Database) -> None:
    from db.commands.work_orders import app as work_orders

    row = a_poison_alarm(database)
    call("retry", str(row), "--by", "张工")
    shown = CliRunner().invoke(work_orders, ["show", alarm_event(database, row), "--trace"])
    assert "put back by 张工: its 3 failures count no more" in " ".join(shown.output.split())


def test_a_task_that_was_under_way_at_a_retry_does_no_harm(database: Database) -> None:
    row = a_poison_alarm(database)
    later = NOW + timedelta(hours=1)
    with database.writing() as session:
        assert [due.id for due in take_due(session, 1, later, REDISPATCH)] == [row]
    assert call("retry", str(row), "--by", "张工").exit_code == 0
    attempt = claimed(database, row, datetime.now(UTC))
    with database.writing() as session:
        assert lease.claim(session, row, "the second task", datetime.now(UTC), LEASE) is None
    settled(database, row, attempt, now=datetime.now(UTC))
    assert count(database, WorkOrder) == 1


@pytest.mark.parametrize("what", ["unknown", "running", "settled", "waiting", "huge"])
def test_of_several_alarms_one_that_cannot_be_put_back_leaves_all_as_they_are(
    database: Database, what: str
) -> None:
    good = a_poison_alarm(database)
    later = NOW + timedelta(hours=1)
    if what == "unknown":
        bad, said = 4711, "there is no alarm 4711"
    elif what == "huge":
        bad, said = 10**30, f"there is no alarm {10**30}"
    elif what == "waiting":
        [bad] = accepted(database, an_alarm())
        said = "is not poison: 0 attempts"
    else:
        bad, said = a_poison_alarm(database), "tried at this moment"
        attempt = claimed(database, bad, later)
        if what == "settled":
            settled(database, bad, attempt, now=later)
            said = "is settled"
    attempts = count(database, AgentRun)
    done = call("retry", str(good), str(bad), "--by", "张工")
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (state(database, good).status, state(database, good).failures) == (AlarmStatus.POISON, 3)
    assert count(database, AgentRun) == attempts


def test_who_does_it_must_be_said(database: Database) -> None:
    row = a_poison_alarm(database)
    assert call("retry", str(row)).exit_code == 2
    assert call("retry", str(row), "--by", " ").exit_code == 2
    assert call("retry", "--by", "张工").exit_code == 2
    assert state(database, row).failures == 3


def test_the_same_alarm_named_twice_is_put_back_once(database: Database) -> None:
    row = a_poison_alarm(database)
    assert len(call("retry", str(row), str(row), "--by", "张工").output.splitlines()) == 1
    with database.reading() as session:
        outcomes = session.scalars(select(AgentRun.outcome).order_by(AgentRun.attempt)).all()
    assert outcomes[3:] == [RunOutcome.GIVEN_BACK]
