"""Manifest of an index on disk: digests of documents and files, and settings."""

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
"""Name and version of the format."""


class Manifest(NamedTuple):
    """Content of manifest.json.

    content: digest of the documents. settings: of `build_index`, and the model's name.
    data: folder beside the manifest with the files. files: digest of each file.
    """

    content: str
    settings: Mapping[str, Any]
    documents: int
    passages: int
    data: str
    files: Mapping[str, str]

    def text(self) -> str:
        """Format as JSON."""
        return json.dumps({"format": FORMAT, **self._asdict()}, indent=1, sort_keys=True) + "\n"


def digest_documents(documents: Iterable[Document]) -> str:
    """Compute a digest of ids, titles and texts."""
    digest = hashlib.blake2b(digest_size=20)
    for document in documents:
        digest.update(json.dumps(list(document)).encode() + b"\n")
    return digest.hexdigest()


def digest_files(folder: Path) -> dict[str, str]:
    """Compute the digest of every file in a folder, by name."""
    return {path.name: _digest(path) for path in sorted(folder.iterdir())}


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of the index in `folder`.

    Raises:
        InputError: the manifest is missing, damaged, or of another format.
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
    # Names are joined to a path, so only plain names are accepted.
    if wrong or not all(name and name == Path(name).name and name != ".." for name in names):
        raise InputError(f"{folder / FILE} is damaged (at {wrong or 'a file name'}): build the index again")
    return Manifest(*(raw[name] for name in Manifest._fields))


def check_files(folder: Path, manifest: Manifest) -> None:
    """Check the files of an index against their digests.

    Raises:
        FileNotFoundError: a file is missing.
        InputError: a file was changed; the message has its name.
    """
    for name, digest in manifest.files.items():
        path = folder / manifest.data / name
        if _digest(path) != digest:
            raise InputError(f"{path} was changed after the index was built: delete {str(folder)!r} and build it again")


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=20)).hexdigest()
