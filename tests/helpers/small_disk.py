"""A disk of its own that can be full: only a real one refuses a write as a plant's does."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_BLOCK = 4096


class Disk:
    """A small file system at `path`; `fill()` leaves no block of it, `free()` gives them back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        with self._ballast.open("ab", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(_BLOCK))

    def free(self) -> None:
        self._ballast.unlink()


@contextlib.contextmanager
def small_disk(megabytes: int) -> Iterator[Disk]:
    """For all users. Skips the test where file systems may not be mounted."""
    path = Path(tempfile.mkdtemp(prefix="andon-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "andon-test", str(path)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        path.rmdir()
        pytest.skip("a file system of a test's own wants root and the right to mount")
    try:
        path.chmod(0o755)
        yield Disk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
        path.rmdir()
