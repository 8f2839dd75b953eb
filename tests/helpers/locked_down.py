"""Programs run as in a container: as another user, with a file system read-only but for some folders."""

import ctypes
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

_VERSION = 1
_CREATE_RULESET = 444

HAS_LANDLOCK = sys.platform == "linux" and ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _VERSION) > 0
"""Landlock lets any process give up writing for itself and all that it starts; the kernel then says no."""

# Run as the new process, which becomes the program. Of root's powers it keeps the one to read everything,
# since the tests' environment may lie in a folder of root's.
_LAUNCH = """
import ctypes, json, os, struct, sys
user, group, writable, *command = sys.argv[1:]
kernel = ctypes.CDLL(None, use_errno=True)

def call(name, *arguments):
    answer = getattr(kernel, name)(*arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return answer

if os.geteuid() == 0:
    READ_EVERYTHING = 2
    call("prctl", 8, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(int(group), int(group), int(group))
    os.setresuid(int(user), int(user), int(user))
    powers = struct.pack("=IIIIII", *[1 << READ_EVERYTHING] * 3, 0, 0, 0)
    call("capset", struct.pack("=II", 0x20080522, 0), powers)
    call("prctl", 47, 2, READ_EVERYTHING, 0, 0)
call("prctl", 38, 1, 0, 0, 0)  # no new privileges
WRITE_FILE, TRUNCATE, MOVE = 1 << 1, 1 << 14, 1 << 13
version = call("syscall", 444, None, 0, 1)
in_a_file = WRITE_FILE | (TRUNCATE if version >= 3 else 0)
in_a_folder = sum(1 << bit for bit in range(4, 13)) | (MOVE if version >= 2 else 0)  # to make and to remove
ruleset = call("syscall", 444, struct.pack("=Q", in_a_file | in_a_folder), 8, 0)
for path in ["/dev/null", *json.loads(writable)]:
    rights = in_a_file | (in_a_folder if os.path.isdir(path) else 0)
    call("syscall", 445, ruleset, 1, struct.pack("=Qi", rights, os.open(path, os.O_PATH)), 0)
call("syscall", 446, ruleset, 0)
os.execvp(command[0], command)
"""


def locked_down(command: Iterable[str], user: str, writable: Iterable[Path]) -> list[str]:
    """The command, so locked down. `user` is UID:GID, and taken where the tests run as root; another
    user's tests run it as themselves. Folders must be writable for that user already, see `folder_for`."""
    if not HAS_LANDLOCK:
        return list(command)
    facts = [*user.split(":"), json.dumps([str(path) for path in writable])]
    return [sys.executable, "-I", "-S", "-c", _LAUNCH, *facts, *command]


def folder_for(user: str, folder: Path) -> Path:
    """A new folder that belongs to that user, as far as that can be given."""
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, *(int(number) for number in user.split(":")))
    return folder
