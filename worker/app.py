"""The Celery application, for `celery -A worker.app worker`. Its queue carries hints; rows are the truth."""

import logging
from typing import Any

from celery import Celery
from celery.signals import after_setup_logger, celeryd_init

from db.settings import settings_or_exit
from producers.settings import BrokerSettings
from worker.broker import kombu_guard
from worker.broker.url import kombu_url
from worker.process import log_redaction
from worker.settings import WorkerSettings
from worker.steps import LineStep
from worker.tasks import PRIORITY_STEPS, QUEUE

SPARE_CONNECTIONS = 36


def build_app(broker: BrokerSettings, worker: WorkerSettings) -> Celery:
    kombu_guard.install()
    address = kombu_url(broker.broker_url)
    modules = ["worker.tasks", "worker.broker.remote_control"]
    app = Celery("andon", broker=address.url, include=modules, set_as_current=True)
    app.conf.update(
        task_default_queue=QUEUE,
        # Row, lease and dispatcher see to it that nothing is lost; late acknowledgement would only run tasks
        # a second time after each lost connection.
        task_acks_late=False,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        worker_pool="threads",
        worker_concurrency=worker.worker_concurrency,
        worker_prefetch_multiplier=1,
        worker_redirect_stdouts=False,
        worker_log_format="%(asctime)s %(levelname)-7s %(name)s: %(message)s",
        worker_task_log_format="%(asctime)s %(levelname)-7s %(name)s: %(message)s",
        worker_send_task_events=True,  # for Flower
        task_send_sent_event=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,  # a broker that refuses a command may take it again later
        worker_cancel_long_running_tasks_on_connection_loss=True,  # concerns late acknowledgement only
        broker_use_ssl=address.tls,
        broker_transport_options={
            "priority_steps": list(PRIORITY_STEPS),
            "max_connections": worker.worker_concurrency + SPARE_CONNECTIONS,
            "socket_timeout": 5,
            "socket_connect_timeout": 3,
            "socket_keepalive": True,
            **address.options,
        },
    )
    app.steps["worker"].add(LineStep)
    return app


@celeryd_init.connect
def _make_room_for_connections(conf: Any = None, options: dict[str, Any] | None = None, **_: Any) -> None:
    """`celery worker -c N` says its number after the application is made."""
    concurrency = str((options or {}).get("concurrency"))
    if concurrency.isdecimal():
        transport = conf.broker_transport_options
        transport["max_connections"] = max(transport["max_connections"], int(concurrency) + SPARE_CONNECTIONS)


@after_setup_logger.connect
def _quieten(**_: Any) -> None:
    """What these say at INFO is a line for each request, or nothing to anybody."""
    for name in ("alembic", "httpx", "httpx2", "openai"):
        logging.getLogger(name).setLevel(logging.WARNING)


log_redaction.install()
app = build_app(settings_or_exit(BrokerSettings), settings_or_exit(WorkerSettings))
