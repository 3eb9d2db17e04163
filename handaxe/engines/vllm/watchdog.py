"""Watchdog of a server: runs a command until standard input closes, then kills the command with all its processes.

    python watchdog.py COMMAND ...

A killed program cannot clean up, but the system closes its pipes. The interpreter of the server's environment runs this
file by its path, so it imports nothing from handaxe.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

__all__ = ["watch"]


def watch(command: Sequence[str]) -> None:
    """Run the command in the current process group until the command or standard input ends; then kill the group,
    including this process."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_kill_at_end_of_input, daemon=True).start()
    process.wait()
    os.killpg(0, signal.SIGKILL)  # processes that the server left behind


def _kill_at_end_of_input() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    watch(sys.argv[1:])
