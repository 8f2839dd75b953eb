"""Whoever adds to the stream may choose an entry's id: the last possible one must not end it for others."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from redis import Redis, ResponseError
from sqlalchemy import func, select

from db.models import Alarm
from db.session import Database
from producers.queue import FIELD, STREAM, PublishError, connect, publish
from producers.simulator import simulate
from tests.helpers.running import running
from tests.helpers.support import eventually
from worker.line.exhausted import begin_anew
from worker.line.intake import GROUP, Intake

LAST = f"{2**64 - 1}-{2**64 - 1}"


@pytest.fixture
def broker(broker_url: str) -> Iterator[Redis]:
    with connect(broker_url) as client:
        client.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
        yield client


def xadd(broker: Redis, *words: str) -> None:
    broker.execute_command("XADD", STREAM, *words)  # type: ignore[no-untyped-call]


def is_taken(broker: Redis, number: int) -> bool:
    """Whether one more alarm is taken by the stream."""
    try:
        publish(broker, list(simulate(number, 7, datetime.now(UTC)))[-1:])
    except PublishError as error:
        return "exhausted the last possible ID" not in error.cause or not error.may_pass
    return True


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("options", [(), ("MAXLEN", "0")], ids=["to be read", "gone at once"])
def test_alarms_are_taken_again_after_the_last_possible_id(
    database: Database,
    broker: Redis,
    broker_url: str,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    monkeypatch.setattr("worker.line.intake.BLOCK_MILLISECONDS", 50)
    monkeypatch.setattr("worker.line.intake.CLAIM_EVERY_SECONDS", 0.2)
    [earlier] = simulate(1, 7, datetime.now(UTC))
    xadd(broker, *options, LAST, FIELD, earlier.to_json())
    assert not is_taken(broker, 2)
    readers = [Intake(database, broker_url, reader=name) for name in ("one", "another")]
    with running(readers[0]), running(readers[1]):
        eventually(lambda: is_taken(broker, 2), 30, 0.1)

        def alarms() -> int:
            with database.reading() as session:
                return session.scalars(select(func.count()).select_from(Alarm)).one()

        eventually(lambda: alarms() == (1 if options else 2), 30)
        eventually(lambda: broker.xlen(STREAM) == 0, 30)


def test_a_stream_that_still_holds_alarms_is_left_alone(broker: Redis) -> None:
    xadd(broker, LAST, FIELD, "{}")
    assert not begin_anew(broker, GROUP)
    assert broker.xlen(STREAM) == 1


def test_a_stream_in_good_order_is_left_alone(broker: Redis) -> None:
    xadd(broker, "5-1", FIELD, "{}")
    broker.xdel(STREAM, "5-1")
    assert not begin_anew(broker, GROUP)
    with pytest.raises(ResponseError, match="equal or smaller"):
        xadd(broker, "5-1", FIELD, "{}")


def test_what_cannot_be_looked_at_is_left_alone(broker: Redis, broker_url: str) -> None:
    broker.delete(STREAM)
    assert not begin_anew(broker, GROUP)
    broker.set(STREAM, "of another type")
    assert not begin_anew(broker, GROUP)
    with pytest.raises(ResponseError):
        broker.xinfo_stream(STREAM)
