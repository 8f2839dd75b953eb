"""The settings: what cannot be right stops the program by the variable's name, and no key is ever shown."""

from datetime import timedelta
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

from db.rules import FloodLimit, Rules
from db.settings import DatabaseSettings, PlantSettings, settings_or_exit
from worker.settings import AgentSettings, WorkerSettings

OWNERS: list[type[BaseSettings]] = [DatabaseSettings, PlantSettings, AgentSettings, WorkerSettings]
OWNER = {name.upper(): owner for owner in OWNERS for name in owner.model_fields}
KEY = "sk-S3CRET"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in OWNER:
        monkeypatch.delenv(name, raising=False)


def refusal(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        settings_or_exit(OWNER[name])
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


WRONG: dict[str, list[str]] = {
    "DATABASE_URL": ["", "x", "mysql://root:sk-S3CRET@h/db", "sqlite://", "sqlite:///:memory:"],
    "PLANT_TIMEZONE": ["", " ", "Mars/Base", "+08:00", "../etc/passwd", "asia", "\ufeffUTC", "A" * 1000],
    "PLANT_LANGUAGE": ["", "cn", "zh-CN", "ZH", "en_US"],
    "PRIORITY_SEVERITIES": [
        "", "800", "[800]", "[1,2,3]", "[800,800,1]", "[1001,5,1]", "[9,5,0]", '["a","b","c"]', "[9,5,1,0]",
    ],
    "REPEAT_WINDOW_HOURS": ["", "-1", "-0.1", "10001", "1e9", "nan", "inf", "8h", "八"],
    "FLOOD_LIMIT": [
        "", " ", "on", "none", "10", "10m", "/10m", "10/", "10/10", "10/10d", "10/10min", "0/10m", "10/0s",
        "-1/10m", "1.5/1m", "10/1.5m", "10001/1m", "1/86401s", "1/25h", "10/10m/1", "十/10m",
        "9999999999999999999999/1m",
    ],
    "TRACE_REDACT": ["", "[0-9]{11}", "{}", "[1]", '["("]', '["a*"]', '["S3CRET", "|"]', '["(?<=S3CRET*)x"]'],
    "OPENAI_BASE_URL": [
        "api.deepseek.com/v1", "ftp://x/v1", "http://", "https:///v1", "http:// x/v1", "http://x y/",
        "http://h:port/v1", "http://h:99999/v1", "http://[::1/v1", "HTTP//x", "http://h/v1\nx", "http://user:S3CRET@/v1",
    ],
    "OPENAI_API_KEY": ["sk-S3CRET\nx", "sk-S3CRET密", "sk S3CRET", "“sk-S3CRET”", "sk-S3CRET\u200b"],
    "LLM_MODEL": ["m" * 201, "runbook", "a\nb"],
    "LLM_TIMEOUT_SECONDS": ["", "0", "-1", "601", "30s", "nan", "inf", "1e9", "一"],
    "AGENT_MAX_MODEL_CALLS": ["", "0", "-8", "101", "8.5", "many", "nan"],
    "AGENT_DEADLINE_SECONDS": ["", "0", "0.5", "3601", "nan", "-inf", "2m"],
    "WORKER_CONCURRENCY": ["", "0", "-1", "513", "1.5", "auto", "nan"],
    "LEASE_SECONDS": ["", "0", "0.9", "3601", "nan", "inf", "30s"],
    "STOP_GRACE_SECONDS": ["", "-1", "3601", "nan", "inf", "soon"],
}  # fmt: skip


def test_every_setting_has_wrong_values_here() -> None:
    assert set(WRONG) == set(OWNER)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in WRONG for value in WRONG[name]],
    ids=lambda text: text[:25],
)
def test_a_value_that_cannot_be_right_is_refused_by_one_line_that_names_the_variable(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    line = refusal(name, capsys)
    assert line.startswith(f"error: {name}: ")
    assert len(line) > len(f"error: {name}: ") + 10, "it must say what is wanted"
    assert line.index("\n") == len(line) - 1
    assert "S3CRET" not in line


def test_a_refusal_in_the_file_names_the_variable_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".env").write_text("LEASE_SECONDS=soon\nOPENAI_API_KEY=sk-S3CRET\n", encoding="utf-8")
    assert refusal("LEASE_SECONDS", capsys).startswith("error: LEASE_SECONDS: ")


@pytest.mark.parametrize("name", ["LLM_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"])
@pytest.mark.parametrize("blank", ["", "  ", "\t\n"])
def test_a_blank_optional_setting_is_unset(name: str, blank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, blank)
    assert getattr(AgentSettings(), name.lower()) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LLM_MODEL", "deepseek-chat"),
        ("LLM_MODEL", "Qwen/Qwen2.5-7B-Instruct"),
        ("LLM_MODEL", "m" * 200),
        ("OPENAI_BASE_URL", "https://api.deepseek.com/v1"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1"),
        ("OPENAI_BASE_URL", "http://[::1]:8000/v1/"),
        ("OPENAI_BASE_URL", "HTTP://vllm:8000"),
        ("LLM_TIMEOUT_SECONDS", "0.5"),
        ("LLM_TIMEOUT_SECONDS", "600"),
        ("AGENT_MAX_MODEL_CALLS", "1"),
        ("AGENT_DEADLINE_SECONDS", "1"),
        ("WORKER_CONCURRENCY", "512"),
        ("LEASE_SECONDS", "1"),
        ("STOP_GRACE_SECONDS", "0"),
        ("PLANT_LANGUAGE", "en"),
        ("PLANT_TIMEZONE", "America/Argentina/Buenos_Aires"),
        ("PRIORITY_SEVERITIES", "[1000, 2, 1]"),
        ("REPEAT_WINDOW_HOURS", "0"),
        ("REPEAT_WINDOW_HOURS", "0.5"),
        ("REPEAT_WINDOW_HOURS", "10000"),
        ("FLOOD_LIMIT", "10/10m"),
        ("FLOOD_LIMIT", "1/1s"),
        ("FLOOD_LIMIT", "10000/24h"),
        ("FLOOD_LIMIT", "3/90s"),
    ],
)
def test_what_can_be_right_is_taken(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, f" {value}\n" if name in ("LLM_MODEL", "OPENAI_BASE_URL") else value)
    taken = getattr(settings_or_exit(OWNER[name]), name.lower())
    assert str(list(taken) if isinstance(taken, tuple) else taken) in (value, f"{value}.0")


def test_a_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://user:{KEY}@host/v1?api-key={KEY}")
    settings = AgentSettings()
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == KEY
    for shown in (repr(settings), str(settings), f"{settings!s}", repr(settings.openai_api_key)):
        assert "S3CRET" not in shown


def test_the_password_of_a_database_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://andon:S3CRET@db/andon")
    settings = DatabaseSettings()
    assert "S3CRET" in settings.database_url
    assert "S3CRET" not in repr(settings)


def test_without_any_variable_the_runbook_plans_and_the_limits_are_the_documented_ones() -> None:
    agent, worker, plant = AgentSettings(), WorkerSettings(), PlantSettings()
    assert (agent.llm_model, agent.agent_max_model_calls, agent.agent_deadline_seconds) == (None, 8, 120)
    assert (worker.worker_concurrency, worker.lease_seconds, worker.stop_grace_seconds) == (16, 30, 20)
    assert (plant.plant_language, plant.plant_timezone) == ("zh", "Asia/Shanghai")
    assert plant.rules == Rules()
    assert (plant.repeat_window_hours, plant.flood_limit) == (8, None)


@pytest.mark.parametrize(
    ("severity", "priority"),
    [(1000, 1), (800, 1), (799, 2), (600, 2), (599, 3), (300, 3), (299, 4), (1, 4)],
)
def test_the_priority_is_the_worst_that_the_severity_reaches(severity: int, priority: int) -> None:
    assert PlantSettings().rules.priority(severity) == priority


def test_the_rules_are_those_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIORITY_SEVERITIES", "[900, 500, 100]")
    monkeypatch.setenv("REPEAT_WINDOW_HOURS", "0.5")
    monkeypatch.setenv("FLOOD_LIMIT", "12/90s")
    rules = PlantSettings().rules
    assert rules == Rules((900, 500, 100), timedelta(minutes=30), FloodLimit(12, timedelta(seconds=90)))
    assert [rules.priority(severity) for severity in (900, 899, 500, 100, 99)] == [1, 2, 2, 3, 4]


@pytest.mark.parametrize(
    ("written", "limit"),
    [
        ("off", None),
        (" OFF ", None),
        ("10/10m", FloodLimit(10, timedelta(minutes=10))),
        (" 10 / 10 M ", FloodLimit(10, timedelta(minutes=10))),
        ("1/3600s", FloodLimit(1, timedelta(hours=1))),
    ],
)
def test_a_flood_limit_is_read_as_it_is_meant(
    written: str, limit: FloodLimit | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOOD_LIMIT", written)
    assert PlantSettings().flood_limit == limit
