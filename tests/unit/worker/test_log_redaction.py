"""No password or key of the settings is logged, whoever logs it and in whatever form."""

import io
import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from worker.process import log_redaction

BROKER, DATABASE, KEY = "@:/%中文s3cret-broker", "s3cret@database", "sk-s3cret-key"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What is logged, in a process with these settings."""
    monkeypatch.chdir(tmp_path)
    settings = {
        "BROKER_URL": f"redis://plant:{quote(BROKER, safe='')}@h/0",
        "DATABASE_URL": f"postgresql://plant:{quote(DATABASE)}@h/n?sslpassword=s3cret-of-the-key",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": "http://user:s3cret%40url@h/v1?api-key=s3cret-query&version=1",
        "FLOWER_BASIC_AUTH": "planner:s3cret-flower,other:s3cret-second",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    before = logging.getLogRecordFactory()
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger = logging.getLogger("a library")
    logger.addHandler(handler)
    log_redaction.install()
    yield written
    logging.setLogRecordFactory(before)
    logger.removeHandler(handler)


def test_no_secret_comes_into_a_line_in_any_form(log: io.StringIO) -> None:
    logger = logging.getLogger("a library")
    secrets = [
        BROKER,
        DATABASE,
        KEY,
        "s3cret-of-the-key",
        "s3cret@url",
        "s3cret-query",
        "s3cret-flower",
        "s3cret-second",
    ]
    for secret in secrets:
        logger.warning("here: %s", secret)
        logger.warning(f"here: {quote(secret, safe='')}")
        logger.warning("here: %r, %(not a name)s", [secret])
        logger.warning("here: %s", {"password": secret})
    logger.warning("%(who)s", {"who": KEY})
    lines = log.getvalue().splitlines()
    assert len(lines) >= 3 * len(secrets)
    assert "s3cret" not in log.getvalue()


def test_no_secret_comes_into_a_traceback(log: io.StringIO) -> None:
    try:
        try:
            raise ValueError(f"unknown command 'AUTH', with args beginning with: 'plant' '{BROKER}'")
        except ValueError as error:
            raise RuntimeError(f"no key {KEY}") from error
    except RuntimeError:
        logging.getLogger("a library").exception("failed")
    said = log.getvalue()
    assert "s3cret" not in said
    assert "RuntimeError: no key ***" in said
    assert "ValueError: unknown command 'AUTH', with args beginning with: 'plant' '***'" in said


def test_other_lines_are_as_they_were_written(log: io.StringIO) -> None:
    logger = logging.getLogger("a library")
    logger.info("not shown at this level")
    logger.warning("plant %s at %d %%", "h/n", 5)
    logger.warning("100 % of it")
    try:
        raise ValueError("of another kind")
    except ValueError:
        logger.exception("failed")
    lines = log.getvalue().splitlines()
    assert lines[:3] == ["WARNING plant h/n at 5 %", "WARNING 100 % of it", "ERROR failed"]
    assert lines[-1] == "ValueError: of another kind"


def test_a_short_password_is_not_taken_out_of_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BROKER_URL", "redis://:alarm@h/0")
    before = logging.getLogRecordFactory()
    log_redaction.install()
    assert logging.getLogRecordFactory() is before


def test_settings_that_cannot_be_read_stop_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("BROKER_URL", "DATABASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "s3cret://")
    before = logging.getLogRecordFactory()
    log_redaction.install()
    logging.setLogRecordFactory(before)
