"""What the unit tests share: alarm-producer with a broker and with none, and the plant's files."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from db.plant import SAMPLE
from producers.queue import connect
from tests.helpers.producer_process import AWAY, Producer


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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the sample plant, to be broken."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "plant"))
