"""A question that hangs, let go of at the test's end."""

from collections.abc import Iterator

import pytest

from tests.helpers.questions import Hanging


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    question = Hanging()
    yield question
    question.released.set()
