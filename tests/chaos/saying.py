"""How far it is, said on standard error: standard output is the table's."""

import sys
import time


def say(line: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()
