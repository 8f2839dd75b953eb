"""Where the broker is: what can be right is taken, and a password is never shown."""

from pathlib import Path

import pytest

from producers.settings import BrokerSettings, SettingsError, broker_settings, redacted


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BROKER_URL", raising=False)


def test_the_default_is_this_machine() -> None:
    assert broker_settings().broker_url == "redis://127.0.0.1:6379/0"


def test_the_environment_comes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("# 备注\nBROKER_URL=redis://file:1/2\nOTHER=1\n", encoding="utf-8")
    assert broker_settings().broker_url == "redis://file:1/2"
    monkeypatch.setenv("BROKER_URL", "redis://environment:1/2")
    assert broker_settings().broker_url == "redis://environment:1/2"


@pytest.mark.parametrize(
    "url",
    [
        "redis://valkey",
        "redis://valkey:6379",
        "redis://valkey:6379/",
        "redis://valkey:6379/15",
        "redis://:s3cret@valkey:6379/0",
        "redis://user:s%40c%2Fret@valkey/0",
        "rediss://valkey:6380/0?ssl_cert_reqs=none",
        "redis://[::1]:6379/0",
        "redis://my_valkey/0",
        "redis://valkey/0?socket_timeout=30",
        "unix:///run/valkey.sock",
        "unix:///run/valkey.sock?db=3",
        "unix://user:s3cret@/run/valkey.sock",
        "  redis://valkey:6379/0\n",
    ],
)
def test_what_the_client_takes_is_taken(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER_URL", url)
    assert broker_settings().broker_url == url.strip()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "s3cret",
        "http://user:s3cret@x",
        "REDIS://s3cret",
        "valkey:6379",
        "amqp://guest:s3cret@rabbit//",
        "redis:/valkey/s3cret",
        "redis://:s3cret@valkey:99999/0",
        "redis://:s3cret@valkey:port/0",
        "redis://:s3cret@valkey/db0",
        "redis://:s3cret@valkey/-1",
        "redis://:s3cret@valkey/0/1",
        "redis://:s3/cret@valkey/0",
        "redis://:s3#cret@valkey/0",
        "redis://:1#s3cret@valkey/0",
        "redis://:1?s3cret@valkey/0",
        "redis://:s3?cret@valkey/0",
        "redis://[::1/s3cret",
        "redis://a..b/0",
        "redis://" + "x" * 64 + "/0",
        "redis://valkey/0?db=s3cret",
        "redis://valkey/0?pasword=s3cret",
        "redis://valkey/0?protocol=7",
        "redis://valkey/0?password=s3@cret",
        "rediss://valkey/0?ssl_cert_reqs=s3cret",
        "unix://",
        "unix:///",
        "unix://relative/v.sock",
    ],
)
def test_what_cannot_be_right_is_one_line_that_names_the_variable_and_shows_no_password(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKER_URL", url)
    with pytest.raises(SettingsError) as caught:
        broker_settings()
    text = str(caught.value)
    assert text.startswith("BROKER_URL: wants redis://HOST:PORT/DB")
    assert text.isprintable()
    assert "s3" not in text
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes("BROKER_URL=redis://交互\n".encode("gbk"))
    with pytest.raises(SettingsError, match=r"^\.env: cannot be read"):
        broker_settings()


def test_a_folder_of_that_name_is_no_file(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    assert broker_settings().broker_url == "redis://127.0.0.1:6379/0"


def test_the_settings_do_not_show_the_address() -> None:
    settings = BrokerSettings(broker_url="redis://:s3cret@valkey/0")
    assert "s3cret" not in f"{settings} {settings!r}"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("redis://:s3cret@valkey:6379/0", "redis://:***@valkey:6379/0"),
        ("redis://user:s3cret@valkey/0", "redis://user:***@valkey/0"),
        ("redis://user:s3:c@ret@valkey/0", "redis://user:***@valkey/0"),
        ("redis://s3cret@valkey/0", "redis://***@valkey/0"),
        ("redis://:s3/cret@valkey/0", "redis://:***@valkey/0"),
        ("redis://:s3?cret@valkey/0", "redis://***"),
        ("redis://valkey/0?password=s3cret&db=3", "redis://valkey/0?password=***&db=3"),
        ("rediss://valkey/0?db=3&ssl_password=s3cret", "rediss://valkey/0?db=3&ssl_password=***"),
        ("redis://valkey/0?PASSWORD=s3cret", "redis://valkey/0?PASSWORD=***"),
        ("redis://valkey/0?pass%77ord=s3cret&db=3", "redis://valkey/0?pass%77ord=***&db=3"),
        ("redis://valkey/0?password=s3@cret", "redis://***"),
        ("unix://:s3cret@/run/v.sock?db=3", "unix://:***@/run/v.sock?db=3"),
        ("s3cret", "***"),
        ("", "***"),
    ],
)
def test_a_password_is_redacted_wherever_it_stands(url: str, shown: str) -> None:
    assert redacted(url) == shown
