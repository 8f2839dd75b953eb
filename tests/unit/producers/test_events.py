"""The event: what its fields take, what they refuse, and what the digest stands for."""

import json
import math
from datetime import UTC, datetime, timedelta, timezone
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


@pytest.mark.parametrize(
    "text",
    ["2026-08-04T10:30:00", "2026-08-04 10:30", "2026-08-04", "20260804T103000"],
)
def test_a_naive_time_is_refused_by_its_field_name(text: str) -> None:
    error = refused(raw(occurred_at=text))
    assert error.code == "invalid"
    assert error.detail.startswith("occurred_at: wants its offset from UTC")


@pytest.mark.parametrize(
    "text",
    [
        "2026-08-04T02:30:00Z",
        "2026-08-04t02:30:00z",
        "2026-08-04T02:30Z",
        "2026-08-04 10:30:00+08:00",
        "2026-08-04T10:30:00.000+0800",
        " 2026-08-03T16:30:00-10:00 ",
        "20260804T023000Z",
    ],
)
def test_iso_8601_is_read_in_its_variants(text: str) -> None:
    assert AlarmEvent.parse(raw(occurred_at=text)).occurred_at == datetime(2026, 8, 4, 2, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        1785810600,
        1785810600.5,
        True,
        [2026],
        "1785810600",
        "yesterday",
        "今天",
        "",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-08-04T25:00:00Z",
        "2026-08-04T10:30:00+99:00",
        "\u0662026-08-04T00:00Z",
    ],
)
def test_what_is_no_moment_is_refused(value: Any) -> None:
    error = refused(raw(occurred_at=value))
    assert error.code == "invalid"
    assert error.detail.startswith("occurred_at: wants ")


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("1970-01-01T00:00:00Z", True),
        ("2199-12-31T23:59:59.999999Z", True),
        ("1970-01-01T07:59:59+08:00", False),
        ("1970-01-01T08:00:00+08:00", True),
        ("2199-12-31T20:00:00-05:00", False),
        ("2200-01-01T07:59:59+08:00", True),
        ("0001-01-01T00:00:00+14:00", False),
        ("9999-12-31T23:59:59-14:00", False),
        ("0001-01-01T00:00:00Z", False),
        ("9999-12-31T23:59:59Z", False),
    ],
)
def test_the_years_that_are_taken_are_those_of_utc(text: str, fits: bool) -> None:
    if fits:
        assert AlarmEvent.parse(raw(occurred_at=text)).occurred_at == datetime.fromisoformat(text)
    else:
        assert refused(raw(occurred_at=text)).detail == "occurred_at: wants a year from 1970 to 2199"


def test_json_is_one_line_with_chinese_unescaped() -> None:
    text = AlarmEvent.parse(json.dumps(FULL).encode()).to_json()
    assert "交互屏贴合机A1" in text
    assert "\n" not in text
    assert json.loads(text) == FULL | {"occurred_at": "2026-08-04T02:30:00Z"}


def test_the_digest_is_that_of_the_content() -> None:
    event = AlarmEvent.parse(json.dumps(FULL).encode())
    turned = dict(reversed(FULL.items())) | {"occurred_at": "2026-08-03T22:30:00-04:00"}
    turned["attributes"] = dict(reversed(FULL["attributes"].items()))
    for same in (
        json.dumps(turned),
        json.dumps(turned, ensure_ascii=False, indent=3),
        event.to_json(),
        json.dumps(FULL | {"line_name": f" {FULL['line_name']} "}),
        json.dumps(FULL | {"severity": 700.0}),
    ):
        assert AlarmEvent.parse(same.encode()).digest() == event.digest()
    assert len(event.digest()) == 64
    assert int(event.digest(), 16) >= 0


def test_a_default_and_the_same_value_sent_have_one_digest() -> None:
    sent = raw(severity=500, state="active", message="", equipment=None, attributes={})
    assert AlarmEvent.parse(sent).digest() == AlarmEvent.parse(raw()).digest()


def test_numbers_that_json_does_not_tell_apart_have_one_digest() -> None:
    digests = {AlarmEvent.parse(raw(attributes={"n": value})).digest() for value in (5, 5.0)} | {
        AlarmEvent(**GOOD, attributes={"n": value}).digest() for value in (5, 5.0)
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"event_id": "e-2"},
        {"source": "plc-8"},
        {"line_name": "交互屏组装B线"},
        {"equipment": "交互屏贴合机B1"},
        {"equipment_class": "老化架"},
        {"fault_code": "e401"},
        {"severity": 701},
        {"state": "active"},
        {"message": "触摸屏通讯中断"},
        {"occurred_at": "2026-08-04T10:30:00.001+08:00"},
        {"occurred_at": "2026-08-04T10:30:00Z"},
        {"attributes": {}},
        {"attributes": FULL["attributes"] | {"温度": 36.7}},
        {"attributes": FULL["attributes"] | {"tags": ["a", None, 1]}},
        {"attributes": FULL["attributes"] | {"tags": [None, "a", True]}},
    ],
)
def test_other_content_has_another_digest(other: dict[str, Any]) -> None:
    event = AlarmEvent.parse(json.dumps(FULL).encode())
    assert AlarmEvent.parse(json.dumps(FULL | other).encode()).digest() != event.digest()


def test_an_event_does_not_share_its_attributes_with_who_made_it() -> None:
    attributes = {"tags": ["a"]}
    event = AlarmEvent(**GOOD, attributes=attributes)
    attributes["tags"].append("b")
    assert event.attributes == {"tags": ["a"]}


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, object(), {1: 2}, {"a", "b"}, b"bytes", datetime.now(UTC)]
)
def test_python_values_that_json_does_not_have_are_refused(value: Any) -> None:
    with pytest.raises(ValidationError, match="wants"):
        AlarmEvent(**GOOD, attributes={"a": value})


def test_a_datetime_is_taken_if_it_is_aware() -> None:
    fields = GOOD | {"occurred_at": datetime(2026, 8, 4, 10, 30, tzinfo=timezone(timedelta(hours=8)))}
    assert AlarmEvent(**fields) == AlarmEvent.parse(raw())
    with pytest.raises(ValidationError, match="offset"):
        AlarmEvent(**GOOD | {"occurred_at": datetime(2026, 8, 4)})  # noqa: DTZ001


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
