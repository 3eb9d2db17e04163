"""Run folder: one writer at a time, and atomic writes of files."""

from __future__ import annotations

import os
from pathlib import Path

from handaxe.core.errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no lock against a second writer
    fcntl = None  # type: ignore[assignment]

__all__ = ["FolderLock", "flush_folder", "write_atomic"]

LOCK = "writer.lock"


class FolderLock:
    """Lock of a folder's writer; a context manager.

    The system releases the lock at any death of its process; the lock file stays and has no meaning by itself. On file
    systems without locks nothing is locked.

    Args:
        folder: an existing folder.

    Raises:
        InputError: another process holds the lock; the message has its process id.
    """

    def __init__(self, folder: Path):
        self._file = (folder / LOCK).open("a+")
        try:
            if fcntl:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._file.truncate(0)
            self._file.write(str(os.getpid()))
            self._file.flush()
        except BlockingIOError:
            self._file.seek(0)
            who = self._file.read(20).strip()
            self._file.close()
            raise InputError(
                f"process {who or '(unknown)'} is writing the run in {folder}: wait for its end, stop it, or name "
                "another folder; handaxe show reads beside it"
            ) from None
        except OSError:  # a file system without locks
            return

    def close(self) -> None:
        """Release the lock."""
        self._file.close()

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def write_atomic(file: Path, text: str) -> None:
    """Write a file atomically and durably: it holds either the whole new text or the old one."""
    part = file.with_name(f"{file.name}.part")
    with part.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(part, file)
    flush_folder(file.parent)


def flush_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, on systems that can open folders."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
