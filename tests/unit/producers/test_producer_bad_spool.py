"""What is no spool, or was damaged, is said to be so and stays as it is."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from producers.spool import FORMAT, NoSpool, Spool, SpoolError
from tests.unit.producers.test_producer_spool import EVERYTHING, opened


@pytest.mark.parametrize(
    "content", [b"x", b"0123456789", b"some text\n" * 500, b"SQLite format 3\0" + bytes(50)]
)
def test_a_file_of_another_kind_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "笔记.txt"
    file.write_bytes(content)
    with pytest.raises(NoSpool, match=r"笔记\.txt is no spool, and was left as it is"):
        Spool(str(file), 100)
    assert file.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["笔记.txt"]


@pytest.mark.parametrize("pragma", ["application_id = 7", "user_version = 1"])
def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path, pragma: str) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as other:
        other.execute(f"PRAGMA {pragma}")
        other.commit()
    for statement in ("SELECT 1", "CREATE TABLE spooled (n)"):
        with closing(sqlite3.connect(file)) as other:
            other.execute(statement)
        before = file.read_bytes()
        with pytest.raises(NoSpool, match="is no spool"):
            Spool(str(file), 100)
        assert file.read_bytes() == before


def test_a_spool_of_a_newer_format_is_refused_and_kept(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as spool:
        spool.append(["a"], "me")
    with closing(sqlite3.connect(tmp_path / "s")) as newer:
        newer.execute(f"PRAGMA user_version = {FORMAT + 1}")
    before = (tmp_path / "s").read_bytes()
    with pytest.raises(NoSpool, match=f"format {FORMAT + 1}, and this alarm-producer knows format {FORMAT}"):
        Spool(str(tmp_path / "s"), 100)
    assert (tmp_path / "s").read_bytes() == before


def test_what_can_be_no_file_is_refused_by_its_full_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    long = "长" * 60 + "/"
    (tmp_path / (long * 3)).mkdir(parents=True)
    for name, why in {
        "": "is a folder",
        "nowhere/s": "there is no folder",
        "pipe": "is no regular file",
        "loop": "cannot be used|cannot be opened",
        "x" * 300: "File name too long",
        f"{long * 3}s": "its path may have 500 bytes",
        "/dev/null": "is no regular file",
    }.items():
        with pytest.raises(NoSpool, match=why) as caught:
            Spool(str(tmp_path / name), 100)
        assert "/" in str(caught.value)
    assert os.stat("/dev/null").st_size == 0


def test_a_spool_that_must_be_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NoSpool, match=f"there is no spool {tmp_path}/s"):
        Spool(str(tmp_path / "s"), 100, make=False)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("full") / "s"
    with opened(file, most=10_000) as spool:
        spool.append([f"{number} " + "x" * 400 for number in range(2000)], "me")
    return file


def look(file: Path) -> None:
    with opened(file, most=10_000) as spool:
        assert len(spool.head(10_000, EVERYTHING)) == 2000


@pytest.mark.parametrize("where", ["first page", "second page", "middle", "cut off"])
def test_a_damaged_spool_is_said_to_be_and_nothing_is_removed(full: Path, tmp_path: Path, where: str) -> None:
    file = tmp_path / "s"
    shutil.copyfile(full, file)
    damaged = bytearray(file.read_bytes())
    middle = len(damaged) // 2
    begin, end = {
        "first page": (100, 4096),
        "second page": (4096, 8192),
        "middle": (middle, middle + 8192),
        "cut off": (middle, len(damaged)),
    }[where]
    damaged[begin:end] = b"" if where == "cut off" else b"\xa7" * (end - begin)
    file.write_bytes(damaged)
    with pytest.raises(SpoolError, match="is damaged; nothing was removed") as caught:
        look(file)
    assert not isinstance(caught.value, NoSpool)
    assert file.read_bytes() == damaged


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM spooled WHERE n = 1000",
        "DELETE FROM spooled WHERE n > 1990",
        "UPDATE spooled SET n = n + 5000",
        "DELETE FROM sqlite_sequence",
    ],
)
def test_a_damage_that_sqlite_reads_past_is_noticed(full: Path, tmp_path: Path, damage: str) -> None:
    """A part of a file may be unreadable in such a way that SQLite just goes on behind it."""
    file = tmp_path / "s"
    shutil.copyfile(full, file)
    with closing(sqlite3.connect(file)) as other:
        other.execute(damage)
        other.commit()
    before = file.read_bytes()
    with pytest.raises(SpoolError, match="is damaged; nothing was removed"):
        look(file)
    assert file.read_bytes() == before
