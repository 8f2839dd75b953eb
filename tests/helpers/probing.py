"""Probes of the tests that do not come through, and what is said of it."""

from db.session import Database
from tests.helpers.support import eventually
from worker.commands.probing import Answer, ask


def stuck_at(leg: str, database: Database, broker_url: str, *said: str) -> Answer:
    """A probe that comes so far and no farther; on a slow machine it may need another attempt."""

    def asked() -> Answer | None:
        answer = ask(database, broker_url, timeout_seconds=1)
        return answer if answer.stuck == leg else None

    answer = eventually(asked, 30)
    assert answer is not None
    return stuck(answer, leg, *said)


def stuck(answer: Answer, leg: str, *said: str) -> Answer:
    assert (answer.works, answer.stuck) == (False, leg), answer
    for words in said:
        assert words in answer.said
    assert answer.claimed_by is None
    return answer
