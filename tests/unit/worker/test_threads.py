"""Threads and loops that go on: started again when they fail, patient while something is away."""

import logging
import threading

import pytest
from sqlalchemy.exc import OperationalError

from worker.process.backoff import BackOff, brief
from worker.process.threads import KeptThread


@pytest.mark.parametrize(
    "failure", [RuntimeError("broken"), SystemExit(1), None], ids=["error", "exit", "return"]
)
def test_a_thread_that_ends_unasked_begins_again_and_says_why(
    failure: BaseException | None, caplog: pytest.LogCaptureFixture
) -> None:
    began = threading.Semaphore(0)

    def work(_stop: threading.Event) -> None:
        began.release()
        if failure is not None:
            raise failure

    stop = threading.Event()
    thread = KeptThread("intake", work, first_pause_seconds=0.01)
    thread.start(stop)
    for _ in range(3):
        assert began.acquire(timeout=10)
    stop.set()
    thread.join(10)
    reason = "it returned" if failure is None else brief(failure)
    messages = [record.getMessage() for record in caplog.records]
    assert messages[:2] == [
        f"the intake ended ({reason}); it begins again in {pause} s" for pause in ("0.0", "0.0")
    ]


def test_a_thread_that_is_told_to_stop_ends_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    stop = threading.Event()
    thread = KeptThread("intake", lambda stop: (stop.wait(), None)[1])
    thread.start(stop)
    stop.set()
    thread.join(10)
    assert caplog.records == []


def test_trouble_is_said_once_and_waited_for_longer_each_time_until_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    waits: list[float] = []

    class Stop:
        def is_set(self) -> bool:
            return False

        def wait(self, timeout: float, /) -> bool:
            waits.append(timeout)
            return False

    back_off = BackOff(logging.getLogger("worker.line.intake"), longest_seconds=3)
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            back_off.failed("the broker", ConnectionError("refused"), Stop())
        back_off.succeeded()
        back_off.succeeded()
        back_off.failed("the broker", ConnectionError("refused"), Stop())
    assert waits == [0.5, 1.0, 2.0, 3.0, 3.0, 0.5]
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "WARNING"]
    assert caplog.records[0].getMessage().endswith("ConnectionError: refused")


def test_an_errors_line_holds_neither_the_statement_nor_its_values() -> None:
    error = OperationalError("INSERT INTO alarm", {"message": "secret"}, Exception("server closed\nmore"))
    assert brief(error) == "Exception: server closed"
    assert brief(KeyError()) == "KeyError"
