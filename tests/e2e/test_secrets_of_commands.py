"""What each command says when it cannot work, and the settings of themselves: nowhere a password or a key."""

import subprocess
import sys
from pathlib import Path

import pytest

from db.session import Database
from db.settings import DatabaseSettings
from producers.settings import BrokerSettings
from tests.helpers.broken_broker import BrokenBroker
from tests.helpers.processes import BIN, environment
from worker.settings import AgentSettings

pytestmark = pytest.mark.timeout(180)

MARK = "S3CRET"
USER = "plant"


def test_no_repr_of_settings_or_database_shows_a_secret() -> None:
    broker = BrokerSettings(broker_url=f"rediss://u:{MARK}@h/0?ssl_password={MARK}")
    agent = AgentSettings(openai_api_key=f"sk-{MARK}", openai_base_url=f"http://u:{MARK}@h/v1?key={MARK}")
    url = f"postgresql://u:{MARK}@h/n?sslpassword={MARK}&oauth_client_secret={MARK}"
    settings = DatabaseSettings(database_url=url)
    database = Database(settings.database_url)
    shown = [repr(broker), repr(agent), repr(settings), repr(database)]
    shown += [str(broker), str(agent), str(settings), str(database)]
    database.close()
    assert MARK not in "".join(shown)


ECHO = f"-ERR unknown command 'AUTH', with args beginning with: '{USER}' '{MARK}-broker' \r\n".encode()
"""As servers answer that do not know it: they quote the password back."""
COMMANDS = [
    ["alarm-producer", "send", "--line", "L", "--code", "E1", "--wait", "0"],
    ["alarm-worker", "up"],
    ["alarm-worker", "run"],
    ["alarm-worker", "eval"],
    ["alarm-db", "upgrade"],
    ["work-orders", "list"],
    ["celery", "-A", "worker.app", "inspect", "ping"],
]
UNUSABLE = {
    "BROKER_URL": f"redis://u:{MARK}/x@h/0",
    "DATABASE_URL": f"postgresql://u:{MARK}@h:port/n",
    "OPENAI_BASE_URL": f"http://u:{MARK}@h:port/v1",
    "OPENAI_API_KEY": f"{MARK} with a space",
    "FLOWER_BASIC_AUTH": f"{MARK}-without-a-user",
}


def ended(command: list[str], folder: Path, **variables: str) -> str:
    """All that a command says that must fail, and does."""
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        env=environment(**variables),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode, said
    assert said.strip()
    assert "Traceback" not in said
    return said


WAITS_FOR_ITS_SERVERS = ["alarm-worker", "run"]


@pytest.mark.parametrize("command", [one for one in COMMANDS if one != WAITS_FOR_ITS_SERVERS], ids=" ".join)
def test_a_command_whose_servers_turn_it_away_says_so_without_a_secret(
    tmp_path: Path, command: list[str]
) -> None:
    with BrokenBroker([], refusal=ECHO) as broker:
        broker_url = broker.url.replace("://", f"://{USER}:{MARK}-broker@")
        database_url = f"postgresql://u:{MARK}@127.0.0.1:1/n"
        said = ended(command, tmp_path, BROKER_URL=broker_url, DATABASE_URL=database_url, LLM_MODEL="")
    assert MARK not in said


@pytest.mark.parametrize("command", [one for one in COMMANDS if one[0] != "celery"], ids=" ".join)
def test_a_command_whose_settings_cannot_be_right_says_so_without_a_secret(
    tmp_path: Path, command: list[str]
) -> None:
    assert MARK not in ended(command, tmp_path, **UNUSABLE)


@pytest.mark.parametrize("begin", ["import worker.app", "from worker.cli import _log; _log()"])
def test_a_process_of_ours_lets_no_library_log_a_secret(tmp_path: Path, begin: str) -> None:
    program = f"{begin}; import logging; logging.getLogger('a library').error('here: %s', '{MARK}-broker')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(BROKER_URL=f"redis://u:{MARK}-broker@h/0"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "here: ***" in done.stderr
