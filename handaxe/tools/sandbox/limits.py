"""What one sandboxed session may use."""

from __future__ import annotations

from typing import NamedTuple

from handaxe.core.errors import InputError

__all__ = ["Limits"]

MIB = 2**20


class Limits(NamedTuple):
    """Bounds of one session; the kernel holds all but `seconds`, `output` and the number of files, which the host does.

    seconds: of wall time a call may take, > 0. Then the code is interrupted, and killed if it does not stop.
    cpu: seconds of processor time of the session, all its calls and threads together, >= 1.
    memory: bytes of address space on top of what the interpreter has when it is ready, >= 16 MiB.
    disk: bytes of the private folder, all files together and the size of the largest one, >= 4 KiB.
        Files and folders in it are at most disk / 4 KiB, and 64 where that is more.
    open_files: descriptors, >= 32.
    threads: besides the main one, >= 0. Other processes are never allowed.
    output: bytes a call may print, >= 1 KiB; then the code is interrupted.
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
                raise InputError(f"{name} must be a whole number of at least {bound}, it is {value!r}")
        if not 0 < self.seconds < 10**6:
            raise InputError(f"seconds must be above 0 (and finite), it is {self.seconds!r}")
