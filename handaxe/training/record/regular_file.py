"""Reading of files from folders that others may have written: regular files only, of limited size.

A device, a pipe or a socket can block a reader forever or never end; a link can lead to one of them, or to a file
outside the folder.
"""

import os
import stat
from pathlib import Path

from handaxe.core.errors import InputError

__all__ = ["check_regular", "read_regular"]


def check_regular(file: Path, *, root: Path | None = None) -> None:
    """Check that a path is a regular file. Links to regular files are accepted.

    Args:
        file: need not exist.
        root: folder that must contain the target of a link; None for any place.

    Raises:
        InputError: the path is a folder, device, pipe or socket, a link without target, or a link out of `root`.
    """
    try:
        target = file.stat()
    except OSError as error:
        if not file.is_symlink():
            return
        raise InputError(f"{file} is a link that leads nowhere ({error.strerror})") from None
    if not stat.S_ISREG(target.st_mode):
        raise InputError(f"{file} is not a regular file: folders, devices, pipes and sockets are not read")
    if root is not None and not file.resolve().is_relative_to(root.resolve()):
        raise InputError(
            f"{file} is a link out of {root}, and such links are not followed: copy the file into the folder"
        )


def read_regular(file: Path, *, limit: int, root: Path | None = None) -> bytes:
    """Read a regular file of at most `limit` bytes; other files are not read.

    Args:
        file: path of the file.
        limit: size in bytes; no more is read.
        root: as in `check_regular`.

    Raises:
        InputError: the file is not regular, is a link out of `root`, or is larger.
        OSError: the file does not exist or cannot be read.
    """
    check_regular(file, root=root)
    # A pipe that replaces the file after the check opens without a wait, and the second check refuses it.
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InputError(f"{file} is not a regular file: folders, devices, pipes and sockets are not read")
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise InputError(f"{file} has more than {limit} bytes")
    return content
