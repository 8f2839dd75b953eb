"""What the producers' tests share: a broker's client, and alarm-producer with a broker and with none."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from producers.queue import connect
from tests.producer_process import AWAY, Producer


@pytest.fixture
def client(broker_url: str) -> Iterator[redis.Redis]:
    with connect(broker_url) as client:
        yield client


@pytest.fixture
def producer(tmp_path: Path, broker_url: str) -> Producer:
    return Producer(tmp_path, broker_url)


@pytest.fixture
def away(tmp_path: Path) -> Producer:
    return Producer(tmp_path, AWAY)
