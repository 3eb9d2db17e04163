"""Temporary folder with the lifetime of a process; the next process removes folders of killed processes."""

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

__all__ = ["OwnedTempdir", "remove_stale_dirs"]

MIN_AGE = 60.0
"""Seconds since its last change before a folder may be stale; a new folder may not be locked yet."""


class OwnedTempdir:
    """Create a new folder, locked by this process. Raises OSError if creation fails.

    Args:
        prefix: of the folder's name; stale folders are found by it.
        parent: parent folder; None: the system's temporary folder, from which stale folders are removed first.

    Attributes:
        path: of the folder.
    """

    def __init__(self, prefix: str, parent: Path | None = None):
        if parent is None:
            remove_stale_dirs(Path(tempfile.gettempdir()), prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self._lock = _lock(self.path)

    def close(self) -> None:
        """Remove the folder and the contents. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_stale_dirs(parent: Path, prefix: str) -> None:
    """Remove unlocked folders with a prefix.

    Args:
        parent: a folder on this machine; locks held by processes of other machines may be invisible.
    """
    for folder in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > MIN_AGE and (lock := _lock(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _lock(folder: Path) -> int | None:
    """Lock a folder until the descriptor is closed or this process ends; None if locking fails."""
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
