"""Search tools over an index of documents: by words, by meaning, or both."""

import difflib
from pathlib import Path
from typing import Annotated

from handaxe.core.errors import InputError, Retry
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.index.documents import Passage
from handaxe.tools.index.lexical import tokenize_words
from handaxe.tools.index.search_index import Hit, Index, Way, open_index

__all__ = ["search"]

MAX_QUERY = 500
"""Characters of the longest query."""


def search(
    index: str | Path | Index,
    *,
    way: Way = "bm25",
    results: int = 3,
    max_results: int = 10,
    snippet: int = 200,
    cost: float = 0.0,
    prefix: str = "",
) -> list[Tool]:
    """Make the tools `search(query, k)` and `open(id, page)` of an index made by `build_index`.

    The tools hold no state of a rollout: one pair serves any number of rollouts and threads. Replies are deterministic;
    passages with equal scores are ordered by id. `search` replies with a line for each passage,

        [id] title, page 2 of 3: the part of the passage with most words of the query

    without the title if it equals the id, and without the page if there is only one. `open` shows a whole page, of at
    most as many characters as the index was built with; an id is looked up in the index only, never used as a path.

    Args:
        index: the folder, or the result of `open_index`. A way by meaning loads a model of 90 MB at the first query.
        way: bm25 (by words), dense (by meaning) or hybrid; `handaxe.tools.index.search_index.Index.rank` has the
            formulas.
        results: default number of passages, >= 1.
        max_results: largest number of passages; a larger k is reduced to it.
        snippet: most characters shown of a passage in the results, >= 20.
        cost: of a call.
        prefix: before both tools' names, to tell two indexes' tools apart.

    Returns:
        [search, open], for `tool_chat([search(folder)])` or, with other tools, `tool_chat([search(folder),
        calculator])`.

    Raises:
        InputError: the index is missing, damaged or lacks the data for `way`; an argument out of range. A bad query or
            an unknown id is status "retry" with similar ids.

    Example:
        With the document {"id": "kemi", "text": "kemi lies on the river arn."}:
        search("which river is at kemi") is "[kemi] kemi lies on the river arn."; open("kemi") too.
    """
    if not 1 <= results <= max_results or snippet < 20:
        raise InputError(
            f"results, max_results and snippet are {results}, {max_results} and {snippet}; give results from 1 to "
            "max_results and a snippet of 20 or more"
        )
    known = index if isinstance(index, Index) else open_index(index)
    known.rank("", 0, way=way)  # raises now if the index lacks data for `way`
    limit = known.manifest.settings["passage_chars"]

    @tool(name=f"{prefix}search", timeout=None, cost=cost, max_chars=max_results * (snippet + 500))
    def find(query: Annotated[str, "what to look for"], k: Annotated[int, "how many results"] = results) -> str:
        """Search the documents. Each result is [id] and text; opening it shows more."""
        _check_query(query)
        hits = known.rank(query, min(max(k, 1), max_results), way=way)
        if not hits:
            raise Retry(f"nothing found for {_short(query)}: try other words")
        return "\n".join(_line(hit, query, snippet) for hit in hits)

    @tool(name=f"{prefix}open", timeout=None, cost=cost, max_chars=limit + 1_000)
    def read(id: Annotated[str, "of a result, without brackets"], page: Annotated[int, "from 1"] = 1) -> str:
        """Read a document that search found, one page at a time."""
        passage = known.page(id.strip().removeprefix("[").removesuffix("]"), page)
        if passage is None:
            raise Retry(f"there is no document {_short(id)}{_near(known, id)}")
        return f"{_head(passage)} {passage.text}"

    return [find, read]


def _check_query(query: str) -> None:
    if not query.strip():
        raise Retry("the query is empty: say what to look for")
    if len(query) > MAX_QUERY:
        raise Retry(f"the query has {len(query)} characters, the limit is {MAX_QUERY}")


def _head(passage: Passage) -> str:
    title = "" if passage.title == passage.id else f" {passage.title[:200]}"
    page = "" if passage.pages == 1 else f"{',' if title else ''} page {passage.page} of {passage.pages}"
    return f"[{passage.id}]{title}{page}{':' if title or page else ''}"


def _line(hit: Hit, query: str, chars: int) -> str:
    return f"{_head(hit.passage)} {_window(' '.join(hit.passage.text.split()), query, chars)}"


def _window(text: str, query: str, chars: int) -> str:
    """Return the first window of at most `chars` characters, from the start of a word, with most words of the query."""
    if len(text) <= chars:
        return text
    wanted = set(tokenize_words(query))
    room = chars - 6  # for the dots at both ends
    best = 0
    most = -1
    place = 0
    for word in text.split(" "):
        # A window begins at the start of the text, or a few words before a word of the query.
        if place == 0 or wanted & set(tokenize_words(word)):
            start = text.find(" ", max(place - room // 4, 0)) + 1 if place > room // 4 else 0
            found = len(wanted & set(tokenize_words(text[start : start + room])))
            if found > most:
                best, most = start, found
        place += len(word) + 1
    stop = len(text) if best + room >= len(text) else max(text.rfind(" ", best + 1, best + room + 1), best + room // 2)
    return f"{'...' if best else ''}{text[best:stop]}{'...' if stop < len(text) else ''}"


def _near(index: Index, text: str) -> str:
    """List ids that a search for the unknown id finds; the whole list of ids may have millions of entries."""
    hits = index.rank(text[:MAX_QUERY], 20, way="bm25")
    ids = list(dict.fromkeys(hit.passage.id for hit in hits))
    close = difflib.get_close_matches(text, ids, n=3, cutoff=0.3) or ids[:3]
    return f"; did you mean {', '.join(close)}?" if close else ": take an id from the results of search"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
