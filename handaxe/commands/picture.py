"""Writes what a command shows in the terminal to a file too, as a picture."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from handaxe.core.errors import InputError

__all__ = ["picture"]

WIDTH = 150
FETCHED = re.compile(r"@font-face \{.*?\}", re.DOTALL)
"""What makes a picture ask another server for a font."""


@contextmanager
def picture(terminal: Console, file: Path | None, *, title: str) -> Iterator[Console]:
    """A terminal to print on; with a file, its picture (SVG) is written there in the end.

    Args:
        terminal: where it is shown.
        file: None: nothing is written.
        title: above the picture.

    Raises:
        InputError: the file cannot be written.
    """
    if file is None:
        yield terminal
        return
    recorded = Console(record=True, highlight=False, width=WIDTH, file=terminal.file)
    yield recorded
    try:
        file.write_text(FETCHED.sub("", recorded.export_svg(title=title, unique_id="handaxe")), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error}") from error
