"""`alarm-worker up`: everything in the foreground, started again when it ends, and gone after Ctrl-C."""

import base64
import re
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from sqlalchemy import func, select

from db.models import WorkOrder
from db.session import Database
from tests.helpers.processes import BIN, descendants, environment, is_running, run
from tests.helpers.servers import free_port
from tests.helpers.support import eventually

pytestmark = pytest.mark.timeout(180)


def status(url: str, login: str | None = None, method: str = "GET") -> int:
    request = urllib.request.Request(url, method=method)
    if login is not None:
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


def test_up_runs_the_line_mends_it_and_ends_whole(tmp_path: Path) -> None:
    port, flower_port = free_port(), free_port()
    env = environment(BROKER_URL=f"redis://127.0.0.1:{port}/0", FLOWER_PORT=str(flower_port))
    log = tmp_path / "up.log"
    database = Database(f"sqlite:///{tmp_path / 'var/andon.db'}")

    def orders() -> int:
        with database.reading() as session:
            return session.scalars(select(func.count()).select_from(WorkOrder)).one()

    def send(event_id: str) -> None:
        own = ("--equipment", event_id, "--id", event_id)  # each a fault of its own
        run("alarm-producer", "send", "--line", "交互屏组装A线", "--code", "E401", *own, env=env)

    with log.open("wb") as output:
        up = subprocess.Popen(
            [str(BIN / "alarm-worker"), "up"], env=env, cwd=tmp_path, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        eventually(lambda: "ready." in log.read_text() or up.poll() is not None, 60)
        assert up.poll() is None, log.read_text()
        assert f"data in {tmp_path / 'var/valkey'}" in log.read_text()
        send("e-1")
        eventually(lambda: orders() == 1, 30)
        login = "andon:" + re.findall(r"password (\S+)", log.read_text())[0]
        flower = f"http://127.0.0.1:{flower_port}/api/tasks"
        eventually(lambda: status(flower, login) == 200, 30)
        assert status(flower) == 401
        shutdown = f"http://127.0.0.1:{flower_port}/api/worker/shutdown/celery@worker"
        assert status(shutdown, login, "POST") == 403, "Flower only looks on"
        family = descendants(up.pid)
        [valkey] = [child for child in family if child.name() == "valkey-server"]
        [worker] = [child for child in family if "--without-gossip" in child.cmdline()]
        valkey.kill()
        eventually(lambda: "Valkey ended unasked (SIGKILL)" in log.read_text(), 10)
        eventually(lambda: any(child.name() == "valkey-server" for child in descendants(up.pid)), 10)
        worker.kill()
        eventually(lambda: log.read_text().count("ready.") == 2, 60)
        send("e-2")
        eventually(lambda: orders() == 2, 30)
        family = descendants(up.pid)
        up.send_signal(signal.SIGINT)
        assert up.wait(40) == 0
        assert not [child for child in family if is_running(child.pid)]
    finally:
        for child in descendants(up.pid):
            child.kill()
        up.kill()
        up.wait()
        database.close()


def test_a_broker_elsewhere_that_does_not_answer_is_said_and_nothing_is_started(tmp_path: Path) -> None:
    env = environment(BROKER_URL="redis://user:secret@127.0.0.1:9/0")
    done = subprocess.run(
        [str(BIN / "alarm-worker"), "up"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "nothing answers at BROKER_URL redis://user:***@127.0.0.1:9/0" in done.stdout
    assert "secret" not in done.stdout + done.stderr
    assert not list(tmp_path.iterdir())
