"""Whatever a model answers, turn by turn: one correct order."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db.models import WorkOrder
from db.models.order import StepName
from db.plant import load
from db.session import Database
from tests.helpers.endpoint import Conversation, Endpoint, Message, completion, good, written
from tests.helpers.endpoint import Reply as Answer
from tests.helpers.support import count
from tests.misbehaviour.bench import PLANT, Bench, Case
from tests.misbehaviour.judge import faults
from tests.misbehaviour.states import steady

AT_ONCE = 6

any_text = st.text(st.characters(), max_size=30)  # lone surrogates and NUL too
json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from([*StepName, *StepName, "", "query_roster"]) | any_text
keys = st.sampled_from(["part", "diagnosis", "actions", "input", "arguments", "line", "date"]) | any_text
values = st.sampled_from(["触摸屏", "HMI", "上锁挂牌", "真空吸盘", ["检查"]]) | json_like
objects = st.dictionaries(keys, values, max_size=4)
arguments = st.one_of(
    objects.map(json.dumps),
    objects.map(json.dumps).map(lambda text: text[:-1]),
    objects.map(str),
    json_like.map(json.dumps),
    objects,
    any_text,
    st.none(),
)
calls = st.builds(written, names, arguments)
contents = (
    any_text
    | st.none()
    | st.builds(lambda name, given: json.dumps({"name": name, "arguments": given}), names, objects)
)
messages = st.builds(
    lambda content, made: {"role": "assistant", "content": content, "tool_calls": made},
    contents,
    st.lists(calls, max_size=10) | st.none(),
)
turns = st.one_of(
    messages,
    messages,
    messages,
    json_like.map(Answer.json),
    json_like.map(lambda value: Answer.json(completion(value))),
    st.builds(Answer.error, st.sampled_from([400, 401, 404]), any_text),
)
scripts = st.lists(turns, min_size=1, max_size=8)


@pytest.fixture(scope="module")
def ready(_migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The sample plant in a SQLite file, for all examples."""
    file = tmp_path_factory.mktemp("any") / "andon.db"
    file.write_bytes(_migrated_file.read_bytes())
    database = Database(f"sqlite:///{file}", pool_size=16)
    load(database, None)
    steady(database, PLANT.zone)
    yield database
    database.close()


@pytest.fixture(scope="module")
def said() -> dict[str, list[Message | Answer]]:
    """What each model says, turn by turn; the last for ever."""
    return {}


@pytest.fixture(scope="module")
def bench(said: dict[str, list[Message | Answer]]) -> Iterator[Bench]:
    def reads_from(name: str, conversation: Conversation) -> Message | Answer:
        return said[name][min(conversation.request - 1, len(said[name]) - 1)]

    models = {f"any/{n}": (lambda c, name=f"any/{n}": reads_from(name, c)) for n in range(AT_ONCE)}
    with Endpoint(models | {"good": good}) as endpoint:
        bench = Bench(endpoint)
        yield bench
        bench.close()


@settings(max_examples=15, deadline=None)
@given(written=st.lists(scripts, min_size=AT_ONCE, max_size=AT_ONCE))
def test_any_sequence_of_answers_ends_in_one_correct_order(
    ready: Database,
    bench: Bench,
    said: dict[str, list[Message | Answer]],
    written: list[list[Message | Answer]],
) -> None:
    bench.endpoint.requests.clear()
    said |= {f"any/{n}": script for n, script in enumerate(written)}
    [perfect] = bench.run(ready, [Case("good")])
    orders = count(ready, WorkOrder)
    ends = bench.run(ready, [Case(name) for name in said])
    wrong = [f"{end.case.name}: {'; '.join(found)}" for end in ends if (found := faults(end, perfect))]
    assert not wrong, "\n".join(wrong)
    assert count(ready, WorkOrder) == orders + len(ends)
    assert isinstance(bench.endpoint, Endpoint)
    assert bench.endpoint.complaints == []
