"""Output of commands: terminal, `--json` files, and the checkout of handaxe."""

import json
import math
import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

import handaxe
from handaxe.core.errors import InputError
from handaxe.training.record.run_progress import has_progress

__all__ = [
    "check_folder",
    "check_new_folder",
    "check_writable",
    "checkout",
    "command_line",
    "console",
    "note",
    "write_json",
]


def console() -> Console:
    """The terminal, on the standard output at the time of the call."""
    return Console(highlight=False)


def checkout() -> Path | None:
    """Root of the checkout with this package; None for an installed package."""
    root = Path(handaxe.__file__).parents[1]
    return root if (root / "pyproject.toml").exists() else None


def note(terminal: Console, title: str, text: str) -> None:
    """Print a label and a text in one line, never wrapped, to be copied."""
    terminal.print(Text().append(f"{title:<10} ", style="bright_black").append(text, style="bold"), soft_wrap=True)


def command_line(words: Sequence[str]) -> str:
    """The command line for a shell."""
    return shlex.join(["handaxe", *words])


def check_writable(file: Path | None) -> None:
    """Raise InputError if a file cannot be written; for use before a long run."""
    if file is not None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8"):
                pass
        except OSError as error:
            raise InputError(f"{file} cannot be written: {error}") from error


def check_new_folder(folder: Path) -> None:
    """Raise InputError if a run cannot be written into a folder; for use before a model is loaded."""
    if has_progress(folder):
        again = command_line(["resume", str(folder)])
        raise InputError(f"there is a run in {folder} already: `{again}` continues it, --out names another folder")
    check_folder(folder)


def check_folder(folder: Path) -> None:
    """Raise InputError if a folder cannot be made or written; for use before a long run."""
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not there.is_dir():
        raise InputError(f"--out {folder} cannot be a folder: {there} is a file; name another one")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"--out {folder} cannot be written: there is no permission to write in {there}")
    try:
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        raise InputError(f"--out {folder} cannot be written: {there} takes no files ({error.strerror})") from error


def write_json(file: Path | None, body: Mapping[str, Any]) -> None:
    """Write a JSON file, with null for numbers that are not finite. Does nothing without a file."""
    if file is None:
        return
    text = json.dumps(_finite(body), indent=1, allow_nan=False)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error}") from error


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
