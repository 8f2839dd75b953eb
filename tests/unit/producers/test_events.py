"""The event: what its fields take, and what they refuse."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from producers.events import AlarmEvent
from tests.helpers.sample_events import FULL, GOOD, REQUIRED, raw, refused


def test_the_required_fields_are_enough_and_the_others_have_defaults() -> None:
    event = AlarmEvent.parse(raw())
    assert (event.event_id, event.source, event.line_name, event.fault_code) == (
        "e-1",
        "plc-7",
        "交互屏组装A线",
        "E401",
    )
    assert (event.equipment, event.equipment_class, event.message, event.attributes) == ("", "", "", {})
    assert (event.severity, event.state) == (500, "active")


def test_a_moment_is_kept_in_utc() -> None:
    event = AlarmEvent.parse(raw())
    assert event.occurred_at == datetime(2026, 8, 4, 2, 30, tzinfo=UTC)
    assert event.occurred_at.utcoffset() == timedelta(0)


def test_an_event_cannot_be_changed() -> None:
    event = AlarmEvent.parse(raw())
    with pytest.raises(ValidationError):
        event.severity = 1  # type: ignore[misc]


def test_fields_of_other_names_become_attributes() -> None:
    event = AlarmEvent.parse(raw(batch="B7", station={"no": 3}, attributes={"shift": "早"}))
    assert event.attributes == {"shift": "早", "batch": "B7", "station": {"no": 3}}


def test_a_field_beside_and_inside_attributes_is_refused_by_its_name() -> None:
    error = refused(raw(batch="B7", attributes={"batch": "B8"}))
    assert error.code == "invalid"
    assert "batch" in error.detail


def test_null_in_an_optional_field_is_its_default() -> None:
    fields = ("equipment", "equipment_class", "severity", "state", "message", "attributes")
    assert AlarmEvent.parse(raw(**dict.fromkeys(fields))) == AlarmEvent.parse(raw())


@pytest.mark.parametrize("field", REQUIRED)
def test_a_missing_field_is_refused_by_its_name(field: str) -> None:
    error = refused(json.dumps({key: value for key, value in GOOD.items() if key != field}).encode())
    assert (error.code, error.detail) == ("invalid", f"{field}: is required and was not sent")


@pytest.mark.parametrize("field", REQUIRED)
def test_null_in_a_required_field_is_refused_by_its_name(field: str) -> None:
    error = refused(raw(**{field: None}))
    assert error.code == "invalid"
    assert error.detail.startswith(f"{field}: wants ")


def test_every_wrong_field_is_named_at_once() -> None:
    error = refused(b"{}")
    assert [part.split(":")[0] for part in error.detail.split("; ")] == list(REQUIRED)


BLANKS = ["", " ", "\t\r\n", "\u3000\u3000", "\u00a0", "\u200b", "\ufeff", "\u3000\u200b "]


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("field", ["event_id", "source", "line_name", "fault_code"])
def test_blank_text_in_a_required_field_is_refused_by_its_name(field: str, blank: str) -> None:
    error = refused(raw(**{field: blank}))
    assert (error.code, error.detail) == ("invalid", f"{field}: wants text that is not blank")


@pytest.mark.parametrize("blank", BLANKS)
def test_a_blank_name_of_the_equipment_is_no_name(blank: str) -> None:
    event = AlarmEvent.parse(raw(equipment=blank, equipment_class=blank))
    assert (event.equipment, event.equipment_class) == ("", "")


def test_blanks_around_a_name_are_dropped_and_those_in_it_are_kept() -> None:
    event = AlarmEvent.parse(raw(line_name="\u3000 SMT  Line 1\t", fault_code=" E 401\n", equipment=" P1 "))
    assert (event.line_name, event.fault_code, event.equipment) == ("SMT  Line 1", "E 401", "P1")


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("event_id", 200),
        ("source", 200),
        ("line_name", 200),
        ("equipment", 200),
        ("equipment_class", 200),
        ("fault_code", 100),
        ("message", 4000),
    ],
)
def test_text_is_bounded_in_characters_not_in_bytes(field: str, most: int) -> None:
    assert getattr(AlarmEvent.parse(raw(**{field: "线" * most})), field) == "线" * most
    error = refused(raw(**{field: "线" * (most + 1)}))
    assert (error.code, error.detail) == ("invalid", f"{field}: wants at most {most} characters")


@pytest.mark.parametrize("value", [401, True, ["E401"], {"code": "E401"}, 4.5])
@pytest.mark.parametrize("field", ["event_id", "line_name", "fault_code", "equipment", "message"])
def test_what_is_not_text_is_refused_by_the_fields_name(field: str, value: Any) -> None:
    assert refused(raw(**{field: value})).detail == f"{field}: wants text"


@pytest.mark.parametrize("severity", [1, 500, 1000, 500.0])
def test_a_severity_from_1_to_1000_is_taken(severity: float) -> None:
    event = AlarmEvent.parse(raw(severity=severity))
    assert event.severity == severity
    assert type(event.severity) is int


@pytest.mark.parametrize(
    "severity",
    ["0", "-1", "1001", "true", "false", '"5"', '"high"', "5.5", "[5]", "{}", "1e300", "1e999", "9" * 4000],
)
def test_another_severity_is_refused(severity: str) -> None:
    text = json.dumps(GOOD)[:-1] + f', "severity": {severity}}}'
    error = refused(text.encode())
    assert (error.code, error.detail) == ("invalid", "severity: wants a whole number from 1 to 1000")


@pytest.mark.parametrize("state", ["Active", "on", "", 1, True, ["active"]])
def test_another_state_is_refused_and_both_are_named(state: Any) -> None:
    assert refused(raw(state=state)).detail == "state: wants 'active' or 'cleared'"


@pytest.mark.parametrize("where", ["beside the fields", "among the attributes"])
@pytest.mark.parametrize(("said", "meant"), [(True, True), (False, False), (None, False)])
def test_an_event_can_be_historical(where: str, said: bool | None, meant: bool) -> None:
    own = {"historical": said}
    event = AlarmEvent.parse(raw(**own) if where == "beside the fields" else raw(attributes=own))
    assert event.historical is meant
    assert event.attributes == {"historical": said}
    assert AlarmEvent.parse(event.to_json().encode()) == event
    assert AlarmEvent.parse(event.to_json().encode()).historical is meant


def test_an_event_that_does_not_say_so_is_not_historical() -> None:
    assert AlarmEvent.parse(raw()).historical is False
    assert AlarmEvent.parse(raw(attributes={"is": {"historical": True}})).historical is False


@pytest.mark.parametrize("where", ["beside the fields", "among the attributes"])
@pytest.mark.parametrize("said", ["true", "", 1, 0, 1.0, [], {}, [True]])
def test_historical_is_true_or_false_and_nothing_else(where: str, said: Any) -> None:
    own = {"historical": said}
    event = raw(**own) if where == "beside the fields" else raw(attributes=own)
    assert refused(event).detail == "historical: wants true or false"


def test_the_schema_takes_what_is_taken_and_names_every_bound() -> None:
    schema = AlarmEvent.model_json_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for fields in (GOOD, FULL, GOOD | {"severity": 500.0}, GOOD | {"batch": 1}, GOOD | {"historical": True}):
        validator.validate(fields)
        AlarmEvent.parse(json.dumps(fields).encode())
    for fields in (
        {},
        GOOD | {"severity": 0},
        GOOD | {"severity": "5"},
        GOOD | {"severity": True},
        GOOD | {"state": "on"},
        GOOD | {"line_name": " "},
        GOOD | {"line_name": "x" * 201},
        GOOD | {"message": 5},
        GOOD | {"attributes": []},
        GOOD | {"historical": "true"},
        GOOD | {"attributes": {"historical": 1}},
    ):
        assert not validator.is_valid(fields)
        refused(json.dumps(fields).encode())
    assert set(schema["required"]) == set(REQUIRED)
    assert all("description" in field for field in schema["properties"].values())
