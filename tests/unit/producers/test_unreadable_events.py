"""What cannot be read as an event: each kind is refused as what it is, and nothing of it does harm."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from producers.events import MAX_EVENT_BYTES, AlarmEvent
from tests.helpers.sample_events import GOOD, raw, refused

NOT_JSON = [
    b"",
    b" ",
    b"{",
    b"nope",
    b"{'event_id': 1}",
    b'{"a":1}{"a":2}',
    b'{"a": 1,}',
    b"\x00",
    b'{"message": "a\x00b"}',
    b'{"message": "a\nb"}',
    b'{"a": .5}',
    b'{"a": NaN}',
    b'{"a": Infinity}',
    b'{"a": -Infinity}',
    b'"\\ud8',
]


@pytest.mark.parametrize("data", NOT_JSON)
def test_what_is_not_json_is_refused_as_such(data: bytes) -> None:
    error = refused(data)
    assert error.code == "not_json"
    assert error.detail.startswith("is not JSON")


@pytest.mark.parametrize(
    "data", [b"[]", b"[1, 2]", b"null", b"5", b'"E401"', b"true", json.dumps([GOOD]).encode()]
)
def test_json_that_is_no_object_is_refused(data: bytes) -> None:
    error = refused(data)
    assert (error.code, error.detail) == ("invalid", "wants one JSON object with the event's fields")


@pytest.mark.parametrize(
    "data", [b"\xff\xfe", '{"a": "交互"}'.encode("gbk"), json.dumps(GOOD).encode("utf-16")]
)
def test_bytes_that_are_not_utf8_are_refused_as_such(data: bytes) -> None:
    assert refused(data).code == "not_utf8"


def test_surrogates_written_as_bytes_are_not_utf8() -> None:
    assert refused(b'{"message": "\xed\xa0\x80"}').code == "not_utf8"


def test_a_byte_order_mark_is_no_obstacle() -> None:
    assert AlarmEvent.parse(b"\xef\xbb\xbf" + raw()) == AlarmEvent.parse(raw())


def test_one_megabyte_is_refused_unread() -> None:
    error = refused(b"x" * 1024 * 1024)
    assert (error.code, error.detail) == ("too_large", "1048576 bytes, and an event has at most 65536")


def test_the_largest_event_is_taken_and_one_byte_more_is_not() -> None:
    def padded(length: int) -> bytes:
        return AlarmEvent.parse(raw(attributes={"pad": "x" * length})).to_json().encode()

    spare = MAX_EVENT_BYTES - len(padded(0))
    largest = padded(spare)
    assert len(largest) == MAX_EVENT_BYTES
    assert AlarmEvent.parse(largest).to_json().encode() == largest
    assert refused(largest + b" ").code == "too_large"


def test_an_event_that_grows_beyond_the_bound_when_it_is_written_is_refused() -> None:
    # 1e22 is written 1e+22: what was read fits, what would be sent on does not.
    numbers = ",".join(["1e22"] * 12_000)
    data = json.dumps(GOOD).encode()[:-1] + f', "attributes": {{"n": [{numbers}]}}}}'.encode()
    assert len(data) < MAX_EVENT_BYTES
    assert refused(data).code == "too_large"


def test_an_event_made_in_python_is_bounded_as_well() -> None:
    with pytest.raises(ValidationError, match="at most 65536"):
        AlarmEvent(**GOOD, attributes={"pad": "x" * MAX_EVENT_BYTES})


@pytest.mark.parametrize("field", ["event_id", "source", "line_name", "fault_code", "equipment", "message"])
@pytest.mark.parametrize(
    ("escape", "complaint"),
    [
        (r"\u0000", "holds a NUL character, which cannot be stored"),
        (r"\ud800", "holds half of a surrogate pair, which is not Unicode text"),
        (r"\udc80", "holds half of a surrogate pair, which is not Unicode text"),
        (r"\udc00\ud800", "holds half of a surrogate pair, which is not Unicode text"),
    ],
)
def test_text_that_cannot_be_stored_is_refused_by_its_fields_name(
    field: str, escape: str, complaint: str
) -> None:
    data = raw(**{field: "a@b"}).replace(b"a@b", b"a" + escape.encode() + b"b")
    error = refused(data)
    assert (error.code, error.detail) == ("invalid", f"{field}: {complaint}")


@pytest.mark.parametrize(
    ("attributes", "where"),
    [
        (r'{"a": {"b": ["x", "\u0000"]}}', "a.b[1] holds a NUL"),
        (r'{"a": "\ud800"}', "a holds half of a surrogate pair"),
        (r'{"a\u0000": 1}', r"a\x00 wants a key of plain text"),
        (r'{"\udfff": 1}', r"\udfff wants a key of plain text"),
        (r'{"a": 1e999}', "a wants a number"),
        (r'{"a": -1e999}', "a wants a number"),
    ],
)
def test_attributes_that_cannot_be_stored_are_refused_by_their_place(attributes: str, where: str) -> None:
    data = json.dumps(GOOD)[:-1] + f', "attributes": {attributes}}}'
    error = refused(data.encode())
    assert error.code == "invalid"
    assert error.detail.startswith(f"attributes: {where}")


@pytest.mark.parametrize("key", [r"\u0000", r"\ud800", r"\n", r"\u001b[2J", "x" * 5000])
def test_a_refusal_may_quote_a_hostile_key(key: str) -> None:
    beside = json.dumps(GOOD)[:-1] + f', "{key}": 1, "attributes": {{"{key}": 1}}}}'
    twice = json.dumps(GOOD)[:-1] + f', "{key}": 1, "{key}": 2}}'
    for data in (beside, twice):
        assert refused(data.encode()).code == "invalid"


@pytest.mark.parametrize("attributes", ["[]", '"a"', "5", "true", "[[1, 2]]"])
def test_attributes_that_are_no_object_are_refused(attributes: str) -> None:
    data = json.dumps(GOOD)[:-1] + f', "attributes": {attributes}, "batch": 1}}'
    assert refused(data.encode()).detail == "attributes: wants a JSON object"


def nested(depth: int) -> Any:
    value: Any = "leaf"
    for level in range(depth):
        value = {"a": value} if level % 2 else [value]
    return value


def test_attributes_may_be_nested_8_deep_and_no_deeper() -> None:
    event = AlarmEvent.parse(raw(attributes={"a": nested(7)}))
    assert event.attributes == {"a": nested(7)}
    error = refused(raw(attributes={"a": nested(8)}))
    assert error.code == "invalid"
    assert error.detail.endswith("is nested more than 8 deep")


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
@pytest.mark.parametrize("depth", [100, 5_000, 10_000])
def test_deep_nesting_is_refused_wherever_it_is(opening: bytes, depth: int) -> None:
    closing = {b"[": b"]", b'{"a":': b"}", b'[{"a":': b"}]"}[opening]
    deep = opening * depth + b"1" + closing * depth
    for field in (b"attributes", b"line_name", b"extra"):
        assert refused(b'{"' + field + b'": ' + deep[: MAX_EVENT_BYTES - 100] + b"}").code in {
            "invalid",
            "not_json",
        }
        whole = b'{"' + field + b'": ' + deep + b"}"
        assert refused(whole).code == ("invalid" if len(whole) <= MAX_EVENT_BYTES else "too_large")


def test_large_whole_numbers_are_kept_exactly_until_they_are_too_long() -> None:
    serial = 10**100 + 1
    event = AlarmEvent.parse(raw(attributes={"serial": serial}))
    assert event.attributes["serial"] == serial
    assert AlarmEvent.parse(event.to_json().encode()) == event
    data = json.dumps(GOOD)[:-1] + ', "serial": ' + "9" * 5000 + "}"
    assert refused(data.encode()).detail == "a number has too many digits; send it as text"


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(GOOD)[:-1] + ', "event_id": "e-2"}',
        json.dumps(GOOD)[:-1] + ', "event_id": "e-1"}',
        json.dumps(GOOD)[:-1] + ', "attributes": {"a": {"event_id": 1, "event_id": 1}}}',
    ],
)
def test_a_key_that_stands_twice_is_refused_by_its_name(data: str) -> None:
    error = refused(data.encode())
    assert (error.code, error.detail) == ("invalid", "event_id: stands twice in one object; send it once")


def test_a_refusal_does_not_quote_what_was_sent() -> None:
    error = refused(raw(message=["s3cret"], severity="s3cret", occurred_at="s3cret", state="s3cret"))
    assert "s3cret" not in error.detail
