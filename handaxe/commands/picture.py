"""Writes the terminal output of a command as an SVG picture."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from handaxe.core.errors import InputError

__all__ = ["picture"]

WIDTH = 150
FETCHED = re.compile(r"@font-face \{.*?\}", re.DOTALL)
"""Rules that would fetch fonts from a server."""


@contextmanager
def picture(terminal: Console, file: Path | None, *, title: str) -> Iterator[Console]:
    """Give a terminal to print on; write the output to an SVG file on exit.

    Args:
        terminal: shows the output.
        file: of the picture; None writes nothing.
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
