"""Whatever arrives, it is an event or an unreadable event, and what is written is read back."""

import json
from datetime import datetime
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from producers.events import AlarmEvent, UnreadableEvent
from tests.helpers.sample_events import FULL

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=8,
)
WALL_CLOCKS = (datetime(1971, 1, 1), datetime(2198, 12, 31))  # noqa: DTZ001 - hypothesis adds the zone
IN_RANGE = st.datetimes(*WALL_CLOCKS, timezones=st.timezones(), allow_imaginary=False)
MOMENTS = (IN_RANGE | st.datetimes(timezones=st.timezones())).map(datetime.isoformat)
SOME_FIELDS = st.sampled_from([*AlarmEvent.model_fields, "batch"])


def read_or_refused(data: bytes) -> None:
    """UnreadableEvent is well formed, or the event survives being written and read; anything else fails."""
    try:
        event = AlarmEvent.parse(data)
    except UnreadableEvent as error:
        refusal = error
    else:
        again = AlarmEvent.parse(event.to_json().encode())
        assert again == event
        assert again.digest() == event.digest()
        assert "\0" not in event.to_json()
        return
    assert refusal.code in {"too_large", "not_utf8", "not_json", "invalid"}
    assert refusal.detail.isprintable()
    assert 0 < len(refusal.detail) <= 500


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
@example(b"\xef\xbb\xbf")
@example(b"[" * 70_000)
def test_any_bytes_are_an_event_or_an_unreadable_event(data: bytes) -> None:
    read_or_refused(data)


@settings(max_examples=300, deadline=None)
@given(JSON_VALUES)
def test_any_json_is_an_event_or_an_unreadable_event(value: Any) -> None:
    read_or_refused(json.dumps(value).encode())


@settings(max_examples=200, deadline=None)
@given(MOMENTS, st.dictionaries(SOME_FIELDS, JSON_VALUES, max_size=3))
def test_anything_in_the_fields_is_an_event_or_an_unreadable_event(at: str, odd: dict[str, Any]) -> None:
    read_or_refused(json.dumps(FULL | {"occurred_at": at} | odd).encode())


@settings(max_examples=200, deadline=None)
@given(
    st.builds(
        AlarmEvent,
        event_id=st.text("ab1-", min_size=1),
        source=st.just("plc"),
        line_name=st.text("线AB 1", min_size=1).filter(str.strip),
        fault_code=st.text("E041", min_size=1),
        severity=st.integers(1, 1000),
        state=st.sampled_from(["active", "cleared"]),
        message=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=200),
        occurred_at=IN_RANGE,
        attributes=st.dictionaries(
            st.text("abc", max_size=3), st.integers() | st.floats(allow_nan=False, allow_infinity=False)
        ),
    )
)
def test_an_event_that_is_written_is_read_back_the_same(event: AlarmEvent) -> None:
    assert AlarmEvent.parse(event.to_json().encode()) == event
    read_or_refused(event.to_json().encode())
