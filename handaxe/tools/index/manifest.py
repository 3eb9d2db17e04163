"""Says what an index on disk is: of which documents and settings, and the digest of each of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.tools.index.documents import Document

__all__ = ["FILE", "Manifest", "check_files", "digest_documents", "digest_files", "read_manifest"]

FILE = "manifest.json"
FORMAT = "handaxe search index 1"
"""Name and version of the format; another version is another format."""


class Manifest(NamedTuple):
    """What stands in manifest.json.

    content: digest of the documents. settings: those of `build_index`, and the model's name.
    data: the folder beside the manifest with the files. files: the digest of each.
    """

    content: str
    settings: Mapping[str, Any]
    documents: int
    passages: int
    data: str
    files: Mapping[str, str]

    def text(self) -> str:
        """As it is written."""
        return json.dumps({"format": FORMAT, **self._asdict()}, indent=1, sort_keys=True) + "\n"


def digest_documents(documents: Iterable[Document]) -> str:
    """One digest of ids, titles and texts, which changes when any of them does."""
    digest = hashlib.blake2b(digest_size=20)
    for document in documents:
        digest.update(json.dumps(list(document)).encode() + b"\n")
    return digest.hexdigest()


def digest_files(folder: Path) -> dict[str, str]:
    """The digest of every file of the folder, by name."""
    return {path.name: _digest(path) for path in sorted(folder.iterdir())}


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of the index in `folder`.

    Raises:
        InputError: there is none, it is damaged, or of another format.
    """
    try:
        raw = json.loads((folder / FILE).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"there is no index in {str(folder)!r}: make one with build_index(documents, folder)"
        ) from None
    except (ValueError, RecursionError):
        raise InputError(f"{folder / FILE} is damaged: delete the folder and build the index again") from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        found = raw.get("format") if isinstance(raw, dict) else raw
        raise InputError(f"{folder / FILE} is of the format {str(found)[:60]!r}, not {FORMAT!r}: build the index again")
    types = {"content": str, "settings": dict, "documents": int, "passages": int, "data": str, "files": dict}
    wrong = [name for name, kind in types.items() if not isinstance(raw.get(name), kind)]
    names = [] if wrong else [raw["data"], *raw["files"]]
    # The names are joined to a path: one that is not plain did not come from build_index.
    if wrong or not all(name and name == Path(name).name and name != ".." for name in names):
        raise InputError(f"{folder / FILE} is damaged (at {wrong or 'a file name'}): build the index again")
    return Manifest(*(raw[name] for name in Manifest._fields))


def check_files(folder: Path, manifest: Manifest) -> None:
    """Check that the files of an index are those that were written.

    Raises:
        FileNotFoundError: one is gone.
        InputError: one was changed; it is named.
    """
    for name, digest in manifest.files.items():
        path = folder / manifest.data / name
        if _digest(path) != digest:
            raise InputError(f"{path} was changed after the index was built: delete {str(folder)!r} and build it again")


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=20)).hexdigest()
