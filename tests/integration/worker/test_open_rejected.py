"""What the log says of rejected alarms that nobody has dealt with."""

import logging
from datetime import UTC, datetime

import pytest
from redis import Redis
from sqlalchemy import select

from db.models import RejectedAlarm
from db.models.alarm import RejectedStatus
from db.queries.alarms import rejected
from db.session import Database
from producers.queue import STREAM
from tests.helpers.running import running
from tests.helpers.support import eventually
from worker.line.intake import Intake
from worker.line.open_rejected import OpenRejected


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    return [
        (level, text) for name, level, text in caplog.record_tuples if name == "worker.line.open_rejected"
    ]


def test_an_intake_says_how_many_are_open_when_that_changes(
    database: Database, broker_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.line.intake.BLOCK_MILLISECONDS", 50)
    monkeypatch.setattr("worker.line.intake.CLAIM_EVERY_SECONDS", 0.1)
    caplog.set_level(logging.INFO, "worker.line.open_rejected")
    with running(Intake(database, broker_url, "reader")):
        with Redis.from_url(broker_url, protocol=2) as broker:
            broker.xadd(STREAM, {"event": "rubbish"})
        text = "1 rejected alarms are open; `alarm-worker rejected list` shows them"
        eventually(lambda: said(caplog) == [(logging.WARNING, text)], 20)
        with database.writing() as session:
            number = session.scalars(select(RejectedAlarm.id)).one()
            rejected.close(session, number, RejectedStatus.DROPPED, "王", datetime.now(UTC))
        eventually(lambda: said(caplog)[1:] == [(logging.INFO, "0 rejected alarms are open")], 20)


def test_what_does_not_change_is_not_said_again(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "worker.line.open_rejected")
    counts = OpenRejected(database)
    for _ in range(3):
        counts.look()
    assert said(caplog) == []
