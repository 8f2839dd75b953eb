"""When an event occurred: a moment with its offset, however ISO 8601 writes it."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from producers.events import AlarmEvent
from tests.helpers.sample_events import GOOD, raw, refused


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


def test_a_datetime_is_taken_if_it_is_aware() -> None:
    fields = GOOD | {"occurred_at": datetime(2026, 8, 4, 10, 30, tzinfo=timezone(timedelta(hours=8)))}
    assert AlarmEvent(**fields) == AlarmEvent.parse(raw())
    with pytest.raises(ValidationError, match="offset"):
        AlarmEvent(**GOOD | {"occurred_at": datetime(2026, 8, 4)})  # noqa: DTZ001
