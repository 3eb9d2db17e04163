"""Documents from a folder, a JSONL file or a list, split into passages."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError

__all__ = ["Document", "Passage", "Source", "read_documents", "split_passages"]

SUFFIXES = (".txt", ".md", ".rst")
"""Suffixes of documents in a folder."""
MAX_ID = 200
"""Characters of the longest id."""
BREAKS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"(?<=[.!?])\s+"), re.compile(r"\s+"))
"""Possible cuts, the best first: paragraphs, lines, sentences, words."""


class Document(NamedTuple):
    """Document to be found. `id` is the argument of `open`: a line of at most 200 characters without spaces at its
    ends."""

    id: str
    title: str
    text: str


class Passage(NamedTuple):
    """Page of a document: the unit of search and display. `page` counts from 1 to `pages`."""

    id: str
    title: str
    page: int
    pages: int
    text: str


Source = str | Path | Iterable[Document | Mapping[str, Any]]


def read_documents(source: Source) -> list[Document]:
    """Read all documents, sorted by id.

    Args:
        source: a folder: every .txt, .md and .rst file in it and below is a document; its id is the path within the
            folder, its title the file's name without suffix; links are not followed.
            Or a JSONL file: each line an object with `text`, and optionally `id` (text or a number; default the line's
            number) and `title` (default the id).
            Or an iterable of Document or of such objects.

    Returns:
        At least one document; ids are unique; every document has text.

    Raises:
        InputError: no documents, a file that is not UTF-8, a line that is no such object, a duplicate or invalid id;
            the message has the file and line, or the number of the document.

    Example:
        read_documents([{"id": "b", "text": "two"}, {"id": "a", "text": "one"}])[0] is Document("a", "a", "one")
    """
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.exists():
            raise InputError(f"there are no documents at {str(path)!r}: give a folder, a JSONL file or a list")
        found = list(_folder(path) if path.is_dir() else _lines(path))
    else:
        found = [(_document(item, f"document {i}", str(i)), f"document {i}") for i, item in enumerate(source, 1)]
    if not found:
        raise InputError(f"there are no documents in {_name(source)}; a folder needs files that end in {SUFFIXES}")
    places: dict[str, str] = {}
    for document, place in found:
        if document.id in places:
            raise InputError(f"the id {document.id!r} is used by {places[document.id]} and by {place}; ids must differ")
        places[document.id] = place
    return sorted(document for document, _ in found)


def split_passages(document: Document, *, chars: int) -> list[Passage]:
    """Split a document into pages of at most `chars` characters.

    A page ends after a paragraph, else a line, a sentence, a word, if there is one in the second half of its allowed
    length. The pages in order are the text, except for white space at the cuts.

    Raises:
        InputError: chars below 20.

    Example:
        [p.text for p in split_passages(Document("a", "a", "One two three. Four five."), chars=20)] is
        ["One two three.", "Four five."]
    """
    if chars < 20:
        raise InputError(f"a passage of at most {chars} characters is too short; give 20 or more")
    texts, rest = [], document.text.strip()
    while len(rest) > chars:
        keep, skip = _cut(rest, chars)
        texts.append(rest[:keep].rstrip())
        rest = rest[skip:].lstrip()
    texts.append(rest)
    return [Passage(document.id, document.title, i, len(texts), text) for i, text in enumerate(texts, 1)]


def _cut(text: str, chars: int) -> tuple[int, int]:
    """Return the end of the page and the start of the next page."""
    for pattern in BREAKS:
        places = [m.span() for m in pattern.finditer(text, chars // 2, chars + 1) if m.start() <= chars]
        if places:
            return places[-1]
    return chars, chars


def _folder(folder: Path) -> Iterator[tuple[Document, str]]:
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if path.suffix.lower() in SUFFIXES and path.is_file() and not path.is_symlink():
                key = path.relative_to(folder).as_posix()
                entry = {"id": key, "title": path.stem, "text": _read(path)}
                yield _document(entry, str(path), key), str(path)


def _lines(path: Path) -> Iterator[tuple[Document, str]]:
    # Not splitlines(): JSON may contain raw U+2028 and other line separators.
    for number, line in enumerate(_read(path).split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path} line {number}"
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place} is not JSON: {error}") from None
        yield _document(entry, place, str(number)), place


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start}): convert it, or leave it out") from None


def _document(entry: Any, place: str, default: str) -> Document:
    entry = entry._asdict() if isinstance(entry, Document) else entry
    if not isinstance(entry, Mapping) or not isinstance(entry.get("text"), str):
        raise InputError(f"{place} is not an object with a text: write {{'id': ..., 'title': ..., 'text': ...}}")
    key, text = entry.get("id", default), entry["text"].encode(errors="replace").decode()
    key = str(key) if isinstance(key, int) and not isinstance(key, bool) else key
    title = entry.get("title", key)
    if not isinstance(key, str) or not key.isprintable() or not 0 < len(key) <= MAX_ID or key != key.strip():
        raise InputError(f"{place} has the id {key!r}: an id is one line of 1 to {MAX_ID} characters")
    if not isinstance(title, str):
        raise InputError(f"{place} has the title {title!r}, which is not text")
    if not text.strip():
        raise InputError(f"{place} ({key!r}) has no text: leave it out")
    return Document(key, " ".join(title.encode(errors="replace").decode().split()), text)


def _name(source: Source) -> str:
    return repr(str(source)) if isinstance(source, str | Path) else "the list"
