"""Names for the workers of one host: the first is `celery`, as Celery itself would say, then `celery-2`, …"""

import fcntl
import functools
import os
import tempfile
from pathlib import Path

FIRST = "celery"
MOST = 512


@functools.cache
def node_name() -> str:
    """What the worker that this process runs is called before its `@`.

    This process holds it until it ends, however it does: so the name outlives the worker's restarts, and no
    two have it at a time.
    """
    name, _lock = take(Path(tempfile.gettempdir()))
    return name


def take(folder: Path) -> tuple[str, int | None]:
    """A free name, and the open file whose lock keeps it from others; None where no file can be locked."""
    for number in range(1, MOST + 1):
        name = FIRST if number == 1 else f"{FIRST}-{number}"
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(folder / f"andon-{name}.lock", flags, 0o600)
        except PermissionError:  # it is another user's
            continue
        except OSError:
            break
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            continue
        return name, file
    return FIRST, None
