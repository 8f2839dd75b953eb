"""An endpoint that is down: a flood of alarms does not wait for it, and it is found again when it is back."""

import logging
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from db.models import WorkOrder
from db.session import Database
from tests.helpers.endpoint import Conversation, Endpoint, Message, Reply, good
from tests.helpers.line import Line, close_models
from tests.helpers.support import an_alarm

only_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


class Outage:
    """A perfect model whose endpoint is down, until it is not."""

    def __init__(self) -> None:
        self.over = False

    def __call__(self, conversation: Conversation) -> Message | Reply:
        return good(conversation) if self.over else Reply.error(500, "down")


@pytest.fixture(autouse=True)
def _connections_closed() -> Iterator[None]:
    yield
    close_models()


def ended(database: Database) -> list[tuple[str, str | None, int]]:
    """Planner, reason of the handover and model calls, of each order as it was made."""
    with database.reading() as session:
        rows = session.scalars(select(WorkOrder).order_by(WorkOrder.id))
        return [(row.planner, row.handover_reason, row.model_calls) for row in rows]


@only_sqlite
def test_a_flood_during_an_outage_drains_without_the_endpoint(
    plant: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("worker.agent.asking.REST_SECONDS", 3600.0)
    with Endpoint({"down": Outage()}) as server, caplog.at_level(logging.INFO, "worker.agent.asking"):
        line = Line(plant, "down", server.url)
        line.start(*(an_alarm() for _ in range(8))).result(60)
        before = server.requests["down"]
        line.start(*(an_alarm() for _ in range(60))).result(60)
        assert server.requests["down"] == before
    first, flood = ended(plant)[:8], ended(plant)[8:]
    assert {(planner, calls) for planner, _reason, calls in first} == {("runbook", 2)}
    assert set(flood) == {("runbook", "endpoint_resting", 0)}
    assert len(flood) == 60
    assert caplog.text.count("it is left alone") == 1


@only_sqlite
def test_when_the_outage_is_over_the_model_plans_again(
    plant: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.agent.asking.REST_SECONDS", 0.5)
    outage = Outage()
    with Endpoint({"down": outage}) as server:
        line = Line(plant, "down", server.url)
        line.start(*(an_alarm() for _ in range(8))).result(60)
        outage.over = True
        orders = [line.order(an_alarm()) for _ in range(1)]
        while orders[-1]["planner"] == "runbook":  # until it has rested
            assert orders[-1]["handover_reason"] == "endpoint_resting"
            orders.append(line.order(an_alarm()))
        orders += [line.order(an_alarm()) for _ in range(3)]
    assert [(order["planner"], order["model_calls"]) for order in orders[-4:]] == [("down", 3)] * 4
