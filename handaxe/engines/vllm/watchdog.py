"""Runs a server until the other end of standard input is closed, then ends it with all of its processes.

    python vllm_watch.py COMMAND ...

A program that is killed cannot clean up; the system closes its pipes for it. It is run by its path, by the interpreter
of the server's environment, so it imports nothing of handaxe.
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
    """Run the command in this process's own group until it or standard input ends; then kill the group, this process
    in it."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_with_input, daemon=True).start()
    process.wait()
    os.killpg(0, signal.SIGKILL)  # what the server left


def _end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    watch(sys.argv[1:])
