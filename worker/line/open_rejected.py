"""Tells the log how many rejected alarms nobody has dealt with yet, when that changes."""

import logging

from db.queries.alarms.rejected import count_rejected
from db.session import Database

logger = logging.getLogger(__name__)


class OpenRejected:
    """Counts at each `look`; one line for each change, whoever rejected, retried or dropped them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._said = 0

    def look(self) -> None:
        with self._database.reading() as session:
            count = count_rejected(session, open_only=True)
        if count > self._said:
            logger.warning("%d rejected alarms are open; `alarm-worker rejected list` shows them", count)
        elif count < self._said:
            logger.info("%d rejected alarms are open", count)
        self._said = count
