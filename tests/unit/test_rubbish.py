"""The rubbish of the tests is rubbish: each entry of the stream has a place among the rejected."""

import pytest

from tests import rubbish
from worker.line.entries import Entry, sort_out

ENTRIES = dict(rubbish.in_the_stream())


def test_there_are_a_hundred_kinds_and_no_two_have_one_name() -> None:
    assert len(ENTRIES) == len(list(rubbish.in_the_stream())) >= 100


@pytest.mark.parametrize("kind", ENTRIES)
def test_each_entry_is_rejected_once_and_is_no_alarm(kind: str) -> None:
    readable, unreadable = sort_out([Entry("1-0", list(ENTRIES[kind].items()))])
    assert (len(readable), len(unreadable)) == (0, 1)
