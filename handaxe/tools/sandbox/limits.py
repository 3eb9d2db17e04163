"""Limits of a sandboxed session on time, processor, memory, disk, open files, threads and output.

The kernel enforces the memory limit (RLIMIT_AS, set by `tools.sandbox.worker`): the session's code gets a MemoryError.
"""

from __future__ import annotations

from typing import NamedTuple

from handaxe.core.errors import InputError

__all__ = ["Limits"]

MIB = 2**20


class Limits(NamedTuple):
    """Limits of a session. The kernel enforces all except `seconds`, `output` and the number of files, enforced by the
    host.

    seconds: wall time of a call, > 0. Then the code is interrupted, and killed if it does not stop.
    cpu: processor seconds of the session, all calls and threads together, >= 1.
    memory: bytes of address space in addition to the interpreter's when it is ready, >= 16 MiB.
    disk: bytes of the private folder, all files together and the size of the largest file, >= 4 KiB.
        The number of files and folders in it is at most disk / 4 KiB, or 64 if that is more.
    open_files: descriptors, >= 32.
    threads: in addition to the main thread, >= 0. Other processes are never allowed.
    output: printed bytes of a call, >= 1 KiB; then the code is interrupted.
    """

    seconds: float = 10.0
    cpu: int = 120
    memory: int = 1024 * MIB
    disk: int = 64 * MIB
    open_files: int = 64
    threads: int = 16
    output: int = 4 * MIB

    def check(self) -> None:
        """Raise InputError for a limit out of range."""
        least = {
            "cpu": 1,
            "memory": 16 * MIB,
            "disk": 4096,
            "open_files": 32,
            "threads": 0,
            "output": 1024,
        }
        for name, bound in least.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not bound <= value < 2**60:
                raise InputError(f"{name} is {value!r}; give a whole number of at least {bound}")
        if not 0 < self.seconds < 10**6:
            raise InputError(f"seconds is {self.seconds!r}; give a finite number above 0")
