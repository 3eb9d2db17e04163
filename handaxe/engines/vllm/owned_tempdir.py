"""A folder for as long as this process runs: what one that was killed left behind, the next removes."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["OwnedTempdir", "clear_left"]

YOUNG = 60.0
"""Seconds since its last change in which a folder is not looked at: its process may not have locked it yet."""


class OwnedTempdir:
    """A new folder that this process locks. Raises OSError where none can be made.

    Args:
        prefix: how its name begins, and the names of those that are looked at whether they were left.
        parent: where it goes; None: among temporary files, where those that were left are removed first.

    Attributes:
        path: of the folder.
    """

    def __init__(self, prefix: str, parent: Path | None = None):
        if parent is None:
            clear_left(Path(tempfile.gettempdir()), prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self._lock = _lock(self.path)

    def close(self) -> None:
        """Remove it with all that is in it. Called again, it does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def clear_left(parent: Path, prefix: str) -> None:
    """Remove the folders of this prefix that no process locks.

    Args:
        parent: a folder of this machine: a lock that a process of another one holds may not be seen.
    """
    for folder in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > YOUNG and (lock := _lock(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _lock(folder: Path) -> int | None:
    """Lock a folder until the descriptor is closed, which the end of this process does, too; None where that fails."""
    if fcntl is None:
        return None
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor
    return None
