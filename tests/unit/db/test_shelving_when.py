"""Until when something is shelved: how that may be written, and what is refused."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import typer

from db.commands.shelving import until_when

SHANGHAI, NEW_YORK = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/New_York")
NOW = datetime(2026, 8, 4, 2, 30, 40, tzinfo=UTC)  # 10:30:40 in Shanghai


@pytest.mark.parametrize(
    ("given", "zone", "ahead"),
    [
        ("8h", SHANGHAI, timedelta(hours=8)),
        (" 30M ", SHANGHAI, timedelta(minutes=30)),
        ("1d12h", SHANGHAI, timedelta(hours=36)),
        ("30d", SHANGHAI, timedelta(days=30)),
        ("2026-08-04T18:30:40", SHANGHAI, timedelta(hours=8)),
        ("2026-08-04 18:30:40", NEW_YORK, timedelta(hours=20)),
        ("2026-08-04T03:30:40Z", NEW_YORK, timedelta(hours=1)),
        ("2026-08-05", SHANGHAI, timedelta(hours=13, minutes=29, seconds=20)),
    ],
)
def test_when_is_a_duration_or_a_moment_which_without_an_offset_is_the_plants(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str, zone: ZoneInfo, ahead: timedelta
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLANT_TIMEZONE", zone.key)
    until = until_when(given, zone, NOW)
    assert until - NOW == ahead
    assert until.tzinfo is zone


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("2026-08-04T10:30:40", "not in the future, it is 2026-08-04 10:30 Asia/Shanghai"),
        ("0h", "not in the future"),
        ("30d1m", "too far ahead, at most 30 days"),
        ("9999d", "too far ahead"),
        ("2036-08-04", "too far ahead"),
        ("99999d", "neither a duration"),
        ("12h1d", "neither a duration"),
        ("-8h", "neither a duration"),
        ("８h", "neither a duration"),
        ("8", "neither a duration"),
        ("tomorrow", "neither a duration such as 8h, 30m or 1d12h, nor a time"),
        ("9999-12-31", "no date or time"),
        (" ", "blank"),
        ("8h\0", "NUL"),
    ],
)
def test_a_when_that_cannot_be_right_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PLANT_TIMEZONE", raising=False)
    with pytest.raises(typer.Exit) as ended:
        until_when(given, SHANGHAI, NOW)
    assert ended.value.exit_code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert said in line
    assert "--until" in line
