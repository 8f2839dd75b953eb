"""The command `alarm-worker status`: whether every alarm is accounted for, and what waits where."""

from contextlib import closing
from typing import Any

import typer

from db import terminal


def status(
    as_json: terminal.AsJson = False,
) -> None:
    """Show where every alarm is, and whether all are accounted for.

    The books balance when each active alarm has opened an order, is attached to one, is shelved, or is still
    on its way. When they do not, what is wrong is said, and the exit code is 1; likewise when the broker
    cannot be asked.
    """
    from db.queries import clock
    from db.queries.books import books, newest_alarm, oldest_open
    from db.settings import settings_or_exit
    from producers.settings import BrokerSettings

    url = settings_or_exit(BrokerSettings).broker_url
    with terminal.opened() as database, database.reading() as session:
        now = clock.now(session)
        found = books(session, now)
        found["oldest_open_at"] = oldest_open(session)
        found["newest_alarm_at"] = newest_alarm(session)
    found["broker"] = _broker(url)
    if as_json:
        terminal.print_json(found)
    else:
        from db.views.books import books_view

        terminal.terminal().print(books_view(found, now))
    raise typer.Exit(0 if found["balanced"] and found["broker"]["error"] is None else terminal.WRONG)


def _broker(url: str) -> dict[str, Any]:
    """What lies in it, as far as it answers; `error` says in one line why it does not."""
    from redis import RedisError

    from producers.queue import STREAM, connect
    from worker.line.intake import GROUP
    from worker.process.backoff import brief
    from worker.tasks import queue_lists

    found: dict[str, Any] = {"stream": None, "pending": None, "tasks": None, "error": None}
    try:
        with closing(connect(url)) as broker:
            stream = broker.xlen(STREAM)
            groups = broker.xinfo_groups(STREAM) if broker.exists(STREAM) else []
            pending = sum(group["pending"] for group in groups if group["name"] == GROUP.encode())
            tasks = sum(broker.llen(name) for name in queue_lists())
    except (RedisError, OSError) as error:
        return found | {"error": brief(error)}
    return found | {"stream": stream, "pending": pending, "tasks": tasks}
