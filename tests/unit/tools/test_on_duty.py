"""Who is on duty: night shifts, hand-over minutes, changes of the clocks, alarms from other time zones."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.models.plant import RosterEntry
from tests.helpers.contexts import LINE, a_shift
from tools.query_shift import _dates, on_duty

SHANGHAI, BERLIN, APIA = ZoneInfo("Asia/Shanghai"), ZoneInfo("Europe/Berlin"), ZoneInfo("Pacific/Apia")
DAY = a_shift("2026-08-04", "白班", "08:00", "20:00", "张伟")
NIGHT = a_shift("2026-08-04", "夜班", "20:00", "08:00", "李娜")
NEXT_DAY = a_shift("2026-08-05", "白班", "08:00", "20:00", "王强")
SECOND = timedelta(seconds=1)


def people(entries: list[RosterEntry], moment: datetime, zone: ZoneInfo) -> list[str]:
    return [duty.person for duty in on_duty(entries, moment, zone)]


def at(text: str, zone: ZoneInfo = SHANGHAI) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


@pytest.mark.parametrize(
    ("moment", "person"),
    [
        ("2026-08-04 07:59:59.999999", None),
        ("2026-08-04 08:00", "张伟"),
        ("2026-08-04 08:00:59", "张伟"),
        ("2026-08-04 19:59:59.999999", "张伟"),
        ("2026-08-04 20:00", "李娜"),
        ("2026-08-04 23:59:59", "李娜"),
        ("2026-08-05 00:00", "李娜"),
        ("2026-08-05 07:59:59.999999", "李娜"),
        ("2026-08-05 08:00", "王强"),
        ("2026-08-05 20:00", None),
        ("2026-08-06 02:00", None),
    ],
)
def test_every_moment_has_the_one_whose_shift_holds_it(moment: str, person: str | None) -> None:
    assert people([DAY, NIGHT, NEXT_DAY], at(moment), SHANGHAI) == ([person] if person else [])


def test_the_order_of_the_roster_does_not_decide_a_hand_over() -> None:
    assert people([NEXT_DAY, NIGHT, DAY], at("2026-08-04 20:00"), SHANGHAI) == ["李娜"]


def test_a_shift_is_given_with_its_own_beginning_and_end_in_the_plants_zone() -> None:
    [duty] = on_duty([NIGHT], datetime(2026, 8, 4, 18, tzinfo=UTC), SHANGHAI)
    assert (duty.shift, duty.phone) == ("夜班", "13800000000")
    assert duty.starts.isoformat() == "2026-08-04T20:00:00+08:00"
    assert duty.ends.isoformat() == "2026-08-05T08:00:00+08:00"


def test_a_shift_from_an_hour_to_the_same_hour_lasts_a_day() -> None:
    whole = a_shift("2026-08-04", "全天", "08:00", "08:00", "赵敏")
    assert people([whole], at("2026-08-04 08:00"), SHANGHAI) == ["赵敏"]
    assert people([whole], at("2026-08-05 07:59:59"), SHANGHAI) == ["赵敏"]
    assert people([whole], at("2026-08-05 08:00"), SHANGHAI) == []


def test_a_shift_that_ends_at_midnight_ends_with_its_own_date() -> None:
    late = a_shift("2026-08-04", "中班", "16:00", "00:00", "赵敏")
    assert people([late], at("2026-08-04 23:59:59"), SHANGHAI) == ["赵敏"]
    assert people([late], at("2026-08-05 00:00"), SHANGHAI) == []


def test_two_people_on_one_shift_are_both_on_duty_in_the_rosters_order() -> None:
    second = a_shift("2026-08-04", "白班", "08:00", "20:00", "陈静")
    assert people([DAY, second], at("2026-08-04 10:00"), SHANGHAI) == ["张伟", "陈静"]


def test_overlapping_shifts_are_both_on_duty_while_they_overlap() -> None:
    middle = a_shift("2026-08-04", "中班", "14:00", "22:00", "陈静")
    assert people([DAY, middle], at("2026-08-04 13:59"), SHANGHAI) == ["张伟"]
    assert people([DAY, middle], at("2026-08-04 14:00"), SHANGHAI) == ["张伟", "陈静"]
    assert people([DAY, middle], at("2026-08-04 20:00"), SHANGHAI) == ["陈静"]


@pytest.mark.parametrize(
    ("moment", "person"),
    [
        ("2026-08-04T02:00:00+02:00", "张伟"),
        ("2026-08-03T19:00:00-05:00", "张伟"),
        ("2026-08-04T12:00:00Z", "李娜"),
        ("2026-08-04T20:00:00-04:00", "王强"),
        ("2026-08-05T09:00:00+09:00", "王强"),
        ("2026-08-04T08:00:00+14:00", None),
    ],
)
def test_an_alarm_in_another_zone_is_looked_up_in_the_plants(moment: str, person: str | None) -> None:
    found = people([DAY, NIGHT, NEXT_DAY], datetime.fromisoformat(moment), SHANGHAI)
    assert found == ([person] if person else [])


SPRING = [
    a_shift("2026-03-28", "Nacht", "22:00", "06:00", "Anna"),
    a_shift("2026-03-29", "Früh", "06:00", "14:00", "Bernd"),
]
AUTUMN = [
    a_shift("2026-10-24", "Nacht", "22:00", "06:00", "Anna"),
    a_shift("2026-10-25", "Früh", "06:00", "14:00", "Bernd"),
]


@pytest.mark.parametrize(("roster", "hours"), [(SPRING, 7), (AUTUMN, 9)], ids=["23-hour day", "25-hour day"])
def test_the_night_the_clocks_change_is_an_hour_shorter_or_longer(
    roster: list[RosterEntry], hours: int
) -> None:
    first = datetime.combine(roster[0].shift_date, time(22), BERLIN).astimezone(UTC)
    last = first + timedelta(hours=hours) - SECOND
    assert people(roster, first - SECOND, BERLIN) == []
    assert people(roster, first, BERLIN) == ["Anna"]
    assert people(roster, last, BERLIN) == ["Anna"]
    assert people(roster, last + SECOND, BERLIN) == ["Bernd"]
    [duty] = on_duty(roster, last, BERLIN)
    assert (duty.ends.astimezone(UTC) - duty.starts.astimezone(UTC)) == timedelta(hours=hours)


@pytest.mark.parametrize("fold", [0, 1])
def test_both_passes_of_the_hour_that_comes_twice_belong_to_the_night(fold: int) -> None:
    moment = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=fold)
    assert people(AUTUMN, moment, BERLIN) == ["Anna"]


def test_a_hand_over_in_the_hour_that_comes_twice_happens_once() -> None:
    roster = [
        a_shift("2026-10-24", "A", "22:00", "02:30", "Anna"),
        a_shift("2026-10-25", "B", "02:30", "06:00", "Bernd"),
    ]
    start = datetime(2026, 10, 24, 22, tzinfo=BERLIN).astimezone(UTC)
    seen = [people(roster, start + timedelta(minutes=n), BERLIN) for n in range(9 * 60)]
    assert all(len(who) == 1 for who in seen)
    assert seen == sorted(seen)


def test_a_hand_over_in_the_hour_that_is_skipped_leaves_no_gap() -> None:
    roster = [
        a_shift("2026-03-28", "A", "22:00", "02:30", "Anna"),
        a_shift("2026-03-29", "B", "02:30", "06:00", "Bernd"),
    ]
    start = datetime(2026, 3, 28, 22, tzinfo=BERLIN).astimezone(UTC)
    seen = [people(roster, start + timedelta(minutes=n), BERLIN) for n in range(7 * 60)]
    assert all(len(who) == 1 for who in seen)
    assert seen == sorted(seen)


def test_a_shift_that_spans_the_change_of_the_clocks_by_day_follows_the_wall_clock() -> None:
    roster = [a_shift("2026-10-25", "Tag", "00:00", "12:00", "Anna")]
    assert people(roster, at("2026-10-25 11:59", BERLIN), BERLIN) == ["Anna"]
    assert people(roster, at("2026-10-25 12:00", BERLIN), BERLIN) == []


@pytest.mark.parametrize(
    ("moment", "dates"),
    [
        ("2026-08-04T15:59:59+00:00", ("2026-08-03", "2026-08-04")),
        ("2026-08-04T16:00:00+00:00", ("2026-08-04", "2026-08-05")),
        ("2026-01-01T00:00:00+08:00", ("2025-12-31", "2026-01-01")),
        ("2028-03-01T00:30:00+08:00", ("2028-02-29", "2028-03-01")),
        ("1970-01-01T00:00:00+00:00", ("1969-12-31", "1970-01-01")),
        ("2199-12-31T23:59:59+00:00", ("2199-12-31", "2200-01-01")),
    ],
)
def test_the_dates_that_are_looked_at_are_the_plants_and_the_day_before(
    moment: str, dates: tuple[str, str]
) -> None:
    found = _dates(datetime.fromisoformat(moment), SHANGHAI)
    assert found == tuple(date.fromisoformat(day) for day in dates)


minutes = st.integers(0, 24 * 60 - 1).map(lambda n: time(n // 60, n % 60))
zones = st.sampled_from(
    [
        "Africa/Cairo",
        "America/Havana",
        "America/New_York",
        "America/Sao_Paulo",
        "Asia/Beirut",
        "Asia/Shanghai",
        "Australia/Lord_Howe",
        "Europe/Berlin",
        "Pacific/Chatham",
        "UTC",
    ]
)


def moments(first_year: int, last_year: int) -> st.SearchStrategy[datetime]:
    first, last = datetime(first_year, 1, 1), datetime(last_year, 12, 31)  # noqa: DTZ001 - wanted naive
    return st.datetimes(first, last, timezones=st.just(UTC))


@given(moments(1999, 2036), zones, st.lists(minutes, min_size=1, max_size=4, unique=True))
def test_a_roster_without_holes_has_exactly_one_on_duty_at_any_moment(
    moment: datetime, name: str, hand_overs: list[time]
) -> None:
    """Whatever the zone does with its clocks; and the dates that are asked for are enough to find them."""
    zone, times = ZoneInfo(name), sorted(hand_overs)
    days = _dates(moment, zone)
    ends = [*times[1:], times[0]]
    roster = [
        RosterEntry(
            line_name=LINE,
            shift_date=day,
            shift_name=str(begin),
            starts=begin,
            ends=end,
            person="x",
            phone="",
        )
        for day in days
        for begin, end in zip(times, ends, strict=True)
    ]
    assert len(on_duty(roster, moment, zone)) == 1


@given(moments(1970, 2199), zones)
def test_any_moment_an_event_can_have_is_looked_up_without_an_error(moment: datetime, name: str) -> None:
    zone = ZoneInfo(name)
    assert people([DAY, NIGHT, *AUTUMN], moment, zone) is not None
    before, day = _dates(moment, zone)
    assert day - before == timedelta(days=1)


def test_a_plant_whose_calendar_skipped_a_day_finds_the_shift_of_the_day_that_was() -> None:
    """Samoa went from 29 to 31 December 2011; a morning shift of the 31st is that date's own."""
    roster = [a_shift("2011-12-31", "Day", "06:00", "14:00", "Sina")]
    moment = datetime(2011, 12, 31, 6, tzinfo=APIA)
    assert people(roster, moment, APIA) == ["Sina"]
