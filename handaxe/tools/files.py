"""Private in-memory folder of text files for each rollout.

Kept: users give a policy files to edit without a sandbox.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from handaxe.core.errors import InputError, Retry
from handaxe.tools.decorator import Tool, tool

__all__ = ["Files", "files"]

MAX_PART, MAX_PATH = 100, 200
"""Bytes of the longest name and of the longest path."""
REPORTED = 100
"""Most files in the report."""


def files(
    start: Mapping[str, str] | None = None,
    *,
    max_files: int = 50,
    max_file: int = 100_000,
    max_total: int = 1_000_000,
    max_chars: int = 4_000,
    prefix: str = "",
) -> Callable[[], Files]:
    """Make a factory of folders, for `tool_chat([files({"notes.txt": "..."})])`.

    The folder is a dictionary in this process: nothing touches the disk, a fork copies the dictionary (texts are
    shared), and no rollout sees the files of another. A program in a sandbox does not see them either: give it a copy
    by `handaxe.tools.cpython.cpython(files=folder.contents())`. If the policy runs programs on its files, store the
    files in the sandbox instead of using this tool.

    A path is names joined by "/". A name is printable text in Unicode's form NFC, of at most 100 bytes, not "." or
    "..", without / and backslash, and does not begin or end with a space; a path has at most 200 bytes. Two paths that
    differ only in case, and a file at the path of a folder, are refused. So `contents()` can be written to any disk.

    Args:
        start: path -> text, in the folder at the start of every rollout.
        max_files: most files, >= 1.
        max_file: bytes (UTF-8) of the largest file.
        max_total: bytes of all files together.
        max_chars: most characters of a reply.
        prefix: before the tools' names, to tell two folders' tools apart.

    Returns:
        A function that makes a `Files`, an object with the tools list_files, read_file, write_file and replace_text. A
        mistake of the policy is status "retry" with a hint.

    Raises:
        InputError: a limit below 1, or starting files that violate a limit.

    Example:
        folder = files({"a.txt": "one\\ntwo"})(); folder.write_file("b.txt", "x"); folder.list_files() is
        "a.txt (7 bytes)\\nb.txt (1 bytes)"; folder.read_file("a.txt", 2) is "line 2 of 2\\ntwo".
    """
    if min(max_files, max_file, max_total, max_chars) < 1:
        raise InputError(
            f"max_files, max_file, max_total and max_chars are {max_files}, {max_file}, {max_total} and {max_chars}; "
            "give 1 or more"
        )
    limits = max_files, max_file, max_total, max_chars
    first = Files(limits)
    named = {
        name: found.but(max_chars=found.max_chars, cost=found.cost, prefix=prefix)
        for name, found in vars(Files).items()
        if isinstance(found, Tool)
    }
    kind = type("Files", (Files,), named) if prefix else Files
    try:
        first.replace(start or {})
    except Retry as error:
        raise InputError(f"the starting files cannot be used: {error}") from None
    state = first.snapshot()

    def make() -> Files:
        folder = kind(limits)
        folder.restore(state)
        return folder

    return make


class Files:
    """Folder of a rollout; made by `files`."""

    def __init__(self, limits: tuple[int, int, int, int]):
        self.max_files, self.max_file, self.max_total, self.max_chars = limits
        self.texts: dict[str, str] = {}

    @tool(timeout=None, max_chars=10**9)  # `_cut` limits the reply with a hint
    def list_files(self) -> str:
        """List the files with their sizes."""
        lines = [f"{path} ({_size(text)} bytes)" for path, text in sorted(self.texts.items())]
        return self._cut("\n".join(lines) or "there are no files", "")

    @tool(timeout=None, max_chars=10**9)
    def read_file(
        self,
        path: Annotated[str, "of the file"],
        first: Annotated[int, "line to begin with, from 1"] = 1,
        last: Annotated[int, "line to end with; 0: the last"] = 0,
    ) -> str:
        """Read a file or some of its lines."""
        lines = self._text(path).split("\n")
        begin, end = max(first, 1), min(last if last > 0 else len(lines), len(lines))
        if begin > end:
            raise Retry(f"{path} has {len(lines)} lines; there is nothing from {first} to {last or len(lines)}")
        text = "\n".join(lines[begin - 1 : end])
        if (begin, end) == (1, len(lines)):
            return self._cut(text, ": read it by lines")
        where = f"line {begin}" if begin == end else f"lines {begin} to {end}"
        return self._cut(f"{where} of {len(lines)}\n{text}", ": read fewer lines")

    @tool(timeout=None)
    def write_file(self, path: Annotated[str, "of the file"], text: Annotated[str, "all of it"]) -> str:
        """Write a file; one that is there already is replaced."""
        self.replace({**self.texts, path: text})
        return f"wrote {path} ({_size(self.texts[path])} bytes)"

    @tool(timeout=None)
    def replace_text(
        self,
        path: Annotated[str, "of the file"],
        old: Annotated[str, "text that stands in it exactly once"],
        new: Annotated[str, "what to put there"],
    ) -> str:
        """Replace a piece of text in a file."""
        text = self._text(path)
        count = text.count(old) if old else 0
        if count != 1:
            raise Retry(f"the old text stands {count} times in {path}; it must stand there exactly once")
        self.replace({**self.texts, path: text.replace(old, new)})
        return f"wrote {path} ({_size(self.texts[path])} bytes)"

    def contents(self) -> dict[str, str]:
        """Return all files: path -> text, as a copy."""
        return dict(self.texts)

    def replace(self, texts: Mapping[str, str]) -> None:
        """Replace all files.

        Raises:
            Retry: a bad path, or a limit is exceeded; the files are then unchanged.
        """
        clean = {path: text.encode(errors="replace").decode() for path, text in texts.items()}
        if len(clean) > self.max_files:
            raise Retry(f"there would be {len(clean)} files, the limit is {self.max_files}")
        total = 0
        for path, text in clean.items():
            size = _size(text)
            total += size
            if size > self.max_file:
                raise Retry(f"{_short(path)} would have {size} bytes, the limit is {self.max_file}")
        if total > self.max_total:
            raise Retry(f"the files would have {total} bytes together, the limit is {self.max_total}")
        _check_paths(list(clean))
        self.texts = clean

    def snapshot(self) -> Mapping[str, str]:
        """Return the files; nothing can change the snapshot, because writing makes a new dictionary."""
        return self.texts

    def restore(self, state: Mapping[str, str]) -> None:
        """Restore a snapshot of this or another folder."""
        self.texts = dict(state)

    def report(self) -> dict[str, Any]:
        """Report the numbers of files and bytes, and size and SHA-256 (of UTF-8) of the first hundred files by name."""
        named = {
            path: {"bytes": _size(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
            for path, text in sorted(self.texts.items())[:REPORTED]
        }
        return {"count": len(self.texts), "bytes": sum(map(_size, self.texts.values())), "files": named}

    def _text(self, path: str) -> str:
        if path not in self.texts:
            raise Retry(f"there is no file {_short(path)}; list_files shows what there is")
        return self.texts[path]

    def _cut(self, text: str, hint: str) -> str:
        if len(text) <= self.max_chars:
            return text
        return text[: self.max_chars] + f"\n(cut; there are {len(text) - self.max_chars} more characters{hint})"


def _check_paths(paths: list[str]) -> None:
    seen: dict[str, str] = {}
    for path in paths:
        _check_path(path)
        folded = unicodedata.normalize("NFC", path.casefold())
        if folded in seen:
            raise Retry(f"{_short(path)} and {_short(seen[folded])} differ only in case: choose another name")
        seen[folded] = path
    for folded, path in seen.items():
        parts = folded.split("/")
        for depth in range(1, len(parts)):
            if (above := "/".join(parts[:depth])) in seen:
                raise Retry(f"{_short(path)} cannot be there: {_short(seen[above])} is a file")


def _check_path(path: str) -> None:
    """Check that a path names a file inside the folder, on every disk."""
    parts = path.split("/")
    if path.startswith("/"):
        raise Retry(f"{_short(path)} is absolute: paths begin with a name, as in notes.txt")
    if any(part in ("", ".", "..") for part in parts):
        raise Retry(f"{_short(path)} has an empty name, . or .. in it: write names joined by /")
    if not path.isprintable() or "\\" in path or unicodedata.normalize("NFC", path) != path:
        raise Retry(f"{_short(path)} has a character that no path may have")
    if any(part != part.strip() for part in parts):
        raise Retry(f"{_short(path)} has a name that begins or ends with a space")
    if len(path.encode()) > MAX_PATH or any(len(part.encode()) > MAX_PART for part in parts):
        raise Retry(f"{_short(path)} is too long: a name may have {MAX_PART} bytes and a path {MAX_PATH}")


def _size(text: str) -> int:
    return len(text.encode())


def _short(text: str) -> str:
    return ascii(text if len(text) <= 60 else text[:57] + "...")
