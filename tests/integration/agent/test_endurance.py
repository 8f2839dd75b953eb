"""Many alarms on end: a good model keeps every turn, a bad one costs no memory, a slow one hinders nobody."""

import os
import threading
from collections.abc import Iterator

import psutil
import pytest

from db.session import Database
from tests.helpers.endpoint import Conversation, Endpoint, Message, Reply, good
from tests.helpers.line import Line
from tests.helpers.support import an_alarm
from tests.misbehaviour.bench import Bench, Case

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.parametrize("database_url", ["sqlite"], indirect=True),
]

WORST = (
    "loops/a hundred parts in one turn",
    "loops/the conversation echoed",
    "bad calls/a megabyte more",
    "bad calls/a megabyte of braces",
    "bad calls/a megabyte of content",
    "slow endpoint/a flood without end",
)
LONG = bool(os.environ.get("ALL_MISBEHAVIOURS"))
"""The long form, which takes minutes; the short one looks for the same in fewer alarms."""
GOOD, BAD = (500, 200) if LONG else (128, 64)
ALLOWED_BYTES = 50 * 1024 * 1024


def test_a_good_model_is_never_handed_over_64_alarms_at_once(plant: Database, bench: Bench) -> None:
    ends = bench.run(plant, [Case("good")] * GOOD)
    assert {(end.order["planner"], end.order["handover_reason"]) for end in ends} == {("good", None)}
    assert {end.order["model_calls"] for end in ends} == {3}
    assert len({end.order["order_id"] for end in ends}) == GOOD


@pytest.mark.parametrize("name", WORST if LONG else WORST[2::2])
def test_alarms_of_a_bad_model_leave_memory_as_it_was(plant: Database, bench: Bench, name: str) -> None:
    bench.run(plant, [Case(name)] * 64)  # as many as ever run at once: pools, threads and caches are made
    before = psutil.Process().memory_info().rss
    ends = bench.run(plant, [Case(name)] * BAD)
    assert all(end.outcome.startswith("settled") for end in ends)
    assert psutil.Process().memory_info().rss - before < ALLOWED_BYTES


def test_endpoints_that_hang_or_drip_block_no_other_alarm(plant: Database) -> None:
    """One handler, one model; the slow ones are still waiting when the good ones have their orders."""
    over = threading.Event()

    def drip() -> Iterator[bytes]:
        while not over.wait(0.2):
            yield b" "

    def by_severity(conversation: Conversation) -> Message | Reply:
        severity = conversation.alarm["severity"]
        if severity == 1:
            over.wait(60)
        return Reply(drip()) if severity == 2 else good(conversation)

    with Endpoint({"mixed": by_severity}) as server:
        line = Line(plant, "mixed", server.url, llm_timeout_seconds=60, agent_deadline_seconds=60)
        slow = line.start(*(an_alarm(severity=n % 2 + 1) for n in range(64)))
        fine = line.start(*(an_alarm(severity=900) for _ in range(32))).result(50)
        still_waiting = not slow.done()
        over.set()
        assert all(outcome.startswith("settled") for outcome in [*fine, *slow.result(60)])
    assert still_waiting
