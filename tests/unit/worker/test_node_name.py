"""The names of the workers that run on one host."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.processes import environment
from worker.process.celery_command import worker_command
from worker.process.node_name import take


def test_the_first_worker_has_celerys_own_name_and_no_two_have_the_same(tmp_path: Path) -> None:
    assert [take(tmp_path)[0] for _ in range(3)] == ["celery", "celery-2", "celery-3"]


def test_a_name_is_free_again_when_its_process_has_ended_even_by_force(tmp_path: Path) -> None:
    program = "from worker.process.node_name import node_name; print(node_name(), flush=True); input()"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command,
        env=environment(TMPDIR=str(tmp_path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "celery\n"
        name, lock = take(tmp_path)
        assert name == "celery-2"
        other.kill()
        other.wait(10)
    assert lock is not None
    os.close(lock)
    assert take(tmp_path)[0] == "celery"


@pytest.mark.parametrize("obstacle", ["a link", "a folder", "no folder"])
def test_where_no_file_can_be_locked_the_worker_has_celerys_own_name(tmp_path: Path, obstacle: str) -> None:
    first = tmp_path / "andon-celery.lock"
    if obstacle == "a link":
        first.symlink_to(tmp_path / "precious")
    elif obstacle == "a folder":
        first.mkdir()
    folder = tmp_path / "none" if obstacle == "no folder" else tmp_path
    assert take(folder) == ("celery", None)
    assert not (tmp_path / "precious").exists()


def test_the_worker_is_started_with_its_name() -> None:
    (option,) = [word for word in worker_command() if word.startswith("--hostname=celery")]
    assert option.endswith("@%h")
