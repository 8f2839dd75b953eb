"""Readers that are gone are forgotten, and never one that still has entries or reads."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from db.session import Database
from producers.queue import STREAM, connect
from tests.helpers.running import running
from tests.helpers.support import eventually
from worker.line.dead_readers import GONE_SECONDS, forget
from worker.line.intake import GROUP, Intake


@pytest.fixture
def broker(broker_url: str) -> Iterator[Redis]:
    with connect(broker_url) as client:
        client.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
        yield client


def readers(broker: Redis) -> set[str]:
    found: Any = broker.xinfo_consumers(STREAM, GROUP)
    return {reader["name"].decode() for reader in found}


def test_only_who_has_nothing_left_and_asks_no_more_is_forgotten(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.xadd(STREAM, {"event": "one"})
    broker.xreadgroup(GROUP, "holds one", {STREAM: ">"})
    broker.xreadgroup(GROUP, "gone", {STREAM: ">"})
    time.sleep(0.3)
    broker.xreadgroup(GROUP, "reads", {STREAM: ">"})
    monkeypatch.setattr("worker.line.dead_readers.GONE_SECONDS", 0.2)
    assert forget(broker, GROUP) == 1
    assert readers(broker) == {"holds one", "reads"}
    assert broker.xpending(STREAM, GROUP)["pending"] == 1


def test_nobody_is_forgotten_within_a_day(broker: Redis) -> None:
    broker.xreadgroup(GROUP, "away", {STREAM: ">"})
    time.sleep(0.1)
    assert forget(broker, GROUP) == 0
    assert readers(broker) == {"away"}
    assert GONE_SECONDS == 86_400


def test_a_broker_that_allows_no_scripts_keeps_its_list(
    broker: Redis, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.line.dead_readers.GONE_SECONDS", 0)
    broker.xreadgroup(GROUP, "gone", {STREAM: ">"})
    broker.acl_setuser(
        "no-scripts", enabled=True, passwords="+word", keys="*", commands=["+@all", "-@scripting"]
    )
    try:
        with connect(broker_url.replace("redis://", "redis://no-scripts:word@")) as other:
            assert forget(other, GROUP) == 0
    finally:
        broker.acl_deluser("no-scripts")
    assert readers(broker) == {"gone"}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_an_intake_forgets_them_while_it_reads(
    database: Database, broker: Redis, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.line.dead_readers.GONE_SECONDS", 0)
    broker.xreadgroup(GROUP, "gone", {STREAM: ">"})
    with running(Intake(database, broker_url, "reads")):
        eventually(lambda: "gone" not in readers(broker), 10)
