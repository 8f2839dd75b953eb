"""The log for what comes in floods."""

import logging

import pytest

from worker.process.seldom import Seldom

logger = logging.getLogger(__name__)


def test_a_flood_is_a_few_lines_and_the_next_while_says_how_many_were_left_out(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    seldom = Seldom(logger, logging.WARNING, lines=2, seconds=10)
    for number in range(7):
        seldom.say("line %d", number)
    assert caplog.messages == ["line 0", "line 1"]
    now += 10
    for number in range(7, 10):
        seldom.say("line %d", number)
    assert caplog.messages[2:] == ["5 more lines like the last one were left out", "line 7", "line 8"]
    now += 100
    seldom.say("line 10")
    assert caplog.messages[5:] == ["1 more lines like the last one were left out", "line 10"]
    now += 10
    seldom.say("line 11")
    assert caplog.messages[7:] == ["line 11"]


def test_a_new_log_says_its_first_line_at_once(caplog: pytest.LogCaptureFixture) -> None:
    Seldom(logger, logging.ERROR).say("the first")
    assert caplog.messages == ["the first"]
