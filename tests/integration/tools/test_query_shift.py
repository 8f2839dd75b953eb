"""Who is on duty, asked of a real roster: the alarm's line and moment, and whoever gets the order."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from db.session import Database
from tests.helpers.contexts import a_context, a_shift
from tests.helpers.support import NOW
from tools.query_shift import answer
from tools.result import ShiftFacts, ToolResult

ROSTER = [
    ("2026-08-03", "夜班", "20:00", "08:00", "李娜"),
    ("2026-08-04", "白班", "08:00", "20:00", "张伟"),
    ("2026-08-04", "夜班", "20:00", "08:00", "王强"),
]
BEFORE_HAND_OVER = datetime(2026, 8, 4, 11, 59, 30, tzinfo=UTC)  # 19:59:30 in the plant


@pytest.fixture
def roster(database: Database) -> Database:
    with database.writing() as session:
        session.add_all([a_shift(*row) for row in ROSTER])
    return database


def asked(database: Database, now: datetime = NOW, zone: str = "Asia/Shanghai", **alarm: Any) -> ToolResult:
    context = a_context(database, zone=zone, **alarm)
    with database.reading() as session:
        return answer(context, session, now)


def people(result: ToolResult) -> tuple[list[str], list[str]]:
    """On duty at the alarm; on duty now, with those who follow soon."""
    assert isinstance(result.facts, ShiftFacts)
    return [duty.person for duty in result.facts.on_duty], [duty.person for duty in result.facts.on_duty_now]


def test_the_one_on_duty_at_the_alarm_is_found_with_the_shift(roster: Database) -> None:
    result = asked(roster)
    assert result.status == "success"
    assert people(result) == (["张伟"], ["张伟"])
    assert "张伟 (白班)" in result.message
    assert "2026-08-04 10:30" in result.message


def test_an_alarm_of_the_night_after_midnight_belongs_to_the_evenings_shift(roster: Database) -> None:
    assert people(asked(roster, occurred_at=datetime(2026, 8, 3, 18, tzinfo=UTC)))[0] == ["李娜"]


def test_an_alarm_handled_a_shift_later_knows_both(roster: Database) -> None:
    alarm = datetime(2026, 8, 3, 18, tzinfo=UTC)
    assert people(asked(roster, now=NOW, occurred_at=alarm)) == (["李娜"], ["张伟"])


def test_who_follows_within_the_attempt_is_known_too(roster: Database) -> None:
    """The order may be written after the hand-over; it then goes to the shift that has begun."""
    assert people(asked(roster, now=BEFORE_HAND_OVER)) == (["张伟"], ["张伟", "王强"])
    after = BEFORE_HAND_OVER + timedelta(minutes=1)
    assert people(asked(roster, now=after))[1] == ["王强"]


def test_an_alarm_from_before_the_roster_is_not_found_yet_the_order_has_someone(roster: Database) -> None:
    result = asked(roster, occurred_at=NOW - timedelta(days=30))
    assert result.status == "not_found"
    assert people(result) == ([], ["张伟"])
    assert "2026-07-05 10:30" in result.message
    assert "张伟" not in result.to_text()


@pytest.mark.parametrize("line", ["交互屏组装B线", "", "A线", "交互屏组装A"])
def test_another_lines_roster_is_never_taken(roster: Database, line: str) -> None:
    result = asked(roster, line_name=line or "X")
    assert result.status == "not_found"
    assert people(result) == ([], [])


@pytest.mark.parametrize("line", ["交互屏组装a线", " 交互屏 组装 A线", "交互屏组装Ａ线", "交互屏组装-A-线"])
def test_a_line_written_otherwise_is_the_same_line(roster: Database, line: str) -> None:
    assert people(asked(roster, line_name=line))[0] == ["张伟"]


def test_the_plants_zone_decides_not_the_senders(roster: Database) -> None:
    berlin = datetime.fromisoformat("2026-08-04T13:59:59+02:00")
    assert people(asked(roster, occurred_at=berlin))[0] == ["张伟"]
    assert people(asked(roster, occurred_at=berlin + timedelta(seconds=1)))[0] == ["王强"]
    assert people(asked(roster, occurred_at=berlin, zone="Europe/Berlin"))[0] == ["张伟"]
    assert people(asked(roster, occurred_at=NOW, zone="America/New_York"))[0] == ["李娜"]


def test_in_a_plant_whose_clocks_change_the_longer_night_has_one_crew(database: Database) -> None:
    with database.writing() as session:
        session.add_all(
            [
                a_shift("2026-10-24", "Nacht", "22:00", "06:00", "Anna"),
                a_shift("2026-10-25", "Früh", "06:00", "14:00", "Bernd"),
            ]
        )
    for hour_utc, person in ((0, "Anna"), (1, "Anna"), (4, "Anna"), (5, "Bernd")):
        moment = datetime(2026, 10, 25, hour_utc, 30, tzinfo=UTC) - timedelta(minutes=30)
        result = asked(database, now=moment, zone="Europe/Berlin", occurred_at=moment)
        assert people(result)[0] == [person]


def test_everyone_on_the_shift_is_named_in_the_rosters_order(roster: Database) -> None:
    with roster.writing() as session:
        session.add(a_shift("2026-08-04", "白班", "08:00", "20:00", "陈静"))
    result = asked(roster)
    assert people(result)[0] == ["张伟", "陈静"]
    assert "张伟 (白班)、陈静 (白班)" in result.message
