"""Lock between processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["process_lock"]


@contextmanager
def process_lock(file: Path) -> Iterator[bool]:
    """Context that one process at a time enters; the others wait. Its value is False where nothing is locked.

    The system releases the lock if the process dies; the file stays and has no meaning by itself. Nothing is locked on
    Windows and on file systems without locks.

    Args:
        file: made if missing, in an existing folder.

    Example:
        with process_lock(cache_path("locks", name)): make the folder of the cache, unless it exists by now
    """
    with file.open("w") as held:
        yield _locked(held)


def _locked(held: IO[str]) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return False
    return True
