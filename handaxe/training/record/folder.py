"""A run's folder: written by one process at a time, and by files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

from handaxe.core.errors import InputError

try:
    import fcntl
except ImportError:  # not on Windows, where nothing keeps a second writer out
    fcntl = None  # type: ignore[assignment]

__all__ = ["FolderLock", "flush_folder", "write_whole"]

LOCK = "writer.lock"


class FolderLock:
    """Held by who writes in a folder; a context manager.

    The system lets go of it when its process dies, however it dies; the file stays, and says nothing by being there.
    Where the file system knows no locks, nothing is locked.

    Args:
        folder: is there.

    Raises:
        InputError: another one writes there; the message has its process.
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
        except OSError:  # no locks here
            return

    def close(self) -> None:
        """Let others write."""
        self._file.close()

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def write_whole(file: Path, text: str) -> None:
    """Write a file so that whatever happens there is all of it or what was there before, on the disk."""
    part = file.with_name(f"{file.name}.part")
    with part.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(part, file)
    flush_folder(file.parent)


def flush_folder(folder: Path) -> None:
    """Make a folder's entries durable, where the system lets one open a folder."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
