"""Tools over sets of documents: filter, intersect, count, and find or sort by a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from handaxe.core.errors import InputError, Retry
from handaxe.tools.decorator import tool

__all__ = ["DocumentSets", "document_sets"]

Value = str | int | float
Documents = Mapping[str, Mapping[str, Value]]
ALL = "all"


class DocumentSets:
    """Named document sets of a rollout. Created by `document_sets`.

    Its report is {"found": ids of all documents in a created set, "asked": ids of the set last queried by `count`,
    `largest` or `sort_by`, or else of the last created set, "sets": number of created sets}.
    """

    def __init__(self, documents: Documents, shown: int = 3):
        self._documents = documents
        self._shown = shown
        self._sets: dict[str, tuple[str, ...]] = {ALL: tuple(sorted(documents))}
        self._asked: str | None = None

    @tool(timeout=None)
    def filter_by(
        self,
        field: Annotated[str, "of the documents"],
        value: Annotated[str, "that it has"],
        among: Annotated[str, "name of a set"] = ALL,
    ) -> str:
        """Make the set of documents whose field has a value."""
        self._check_field(field)
        return self._made([one for one in self._set(among) if str(self._documents[one].get(field)) == value])

    @tool(timeout=None)
    def intersect(self, first: Annotated[str, "name of a set"], second: Annotated[str, "name of a set"]) -> str:
        """Make the set of the documents that are in both sets."""
        kept = set(self._set(second))
        return self._made([one for one in self._set(first) if one in kept])

    @tool(timeout=None)
    def count(self, among: Annotated[str, "name of a set"]) -> str:
        """Say how many documents a set has."""
        size = len(self._set(among))
        self._asked = among
        return str(size)

    @tool(timeout=None)
    def largest(self, field: Annotated[str, "a number"], among: Annotated[str, "name of a set"]) -> str:
        """Say which document of a set has the largest number in a field, and the number."""
        best = self._ordered(field, among)[0]
        return f"{best} with {self._documents[best][field]}"

    @tool(timeout=None)
    def sort_by(self, field: Annotated[str, "a number"], among: Annotated[str, "name of a set"]) -> str:
        """Say the documents of a set, the one with the largest number in a field first."""
        return " ".join(self._ordered(field, among))

    def report(self) -> Mapping[str, Any]:
        made = [ids for name, ids in self._sets.items() if name != ALL]
        last = made[-1] if made else ()
        asked = last if self._asked is None else self._sets[self._asked]
        return {"found": sorted({one for ids in made for one in ids}), "asked": sorted(asked), "sets": len(made)}

    def snapshot(self) -> Any:
        return dict(self._sets), self._asked

    def restore(self, state: Any) -> None:
        self._sets, self._asked = dict(state[0]), state[1]

    def _made(self, ids: Sequence[str]) -> str:
        name = f"s{len(self._sets)}"
        self._sets[name] = tuple(ids)
        more = " ..." if len(ids) > self._shown else ""
        return f"{name}: {' '.join(ids[: self._shown]) or 'nothing'}{more}"

    def _set(self, name: str) -> tuple[str, ...]:
        if name not in self._sets:
            raise Retry(f"there is no set {name[:20]!r}; there are {', '.join(list(self._sets)[-8:])}")
        return self._sets[name]

    def _check_field(self, field: str) -> None:
        known = sorted({name for one in self._documents.values() for name in one})
        if field not in known:
            raise Retry(f"there is no field {field[:20]!r}; there are {', '.join(known)}")

    def _ordered(self, field: str, among: str) -> list[str]:
        """Documents of a set with a number in the field, the largest first, ties by id."""
        self._check_field(field)
        numbers = {one: self._documents[one].get(field) for one in self._set(among)}
        found = {one: value for one, value in numbers.items() if isinstance(value, int | float)}
        if not found:
            raise Retry(f"no document of {among[:20]!r} has a number in {field!r}")
        self._asked = among
        return sorted(found, key=lambda one: (-found[one], one))


def document_sets(documents: Documents, *, shown: int = 3) -> type[DocumentSets]:
    """Create a class with the tools filter_by, intersect, count, largest and sort_by, for `tool_chat`.

        filter_by(field, value, among)  a new set, s1, s2, ...: documents of the set `among` with the value in the field
        intersect(first, second)        a new set: the intersection
        count(among)                    size;  largest(field, among)  largest document;  sort_by(field, among)  sorted
        ids

    The reply to a new set is its name and its first ids. The set "all" always exists. A missing set, field or number is
    status "retry".

    Args:
        documents: id -> field -> value; every id is a word. They are read only, and shared by all rollouts.
        shown: ids in the reply to a new set, >= 0.

    Returns:
        A class without arguments, for `tool_chat([document_sets(...)])`.

    Raises:
        InputError: no documents, an id that is no single word, or `shown` below 0.

    Example:
        {"104": {"by": "41", "pages": 387}, "217": {"by": "41", "pages": 90}, "388": {"by": "7", "pages": 500}}
        filter_by("by", "41") -> "s1: 104 217";  count("s1") -> "2";  largest("pages", "s1") -> "104 with 387"

    Idea: the aggregation tools of arXiv:2510.27569 (MARAG-R1), which work on results as sets.
    """
    if shown < 0 or not documents or not all(len(one.split()) == 1 for one in documents):
        raise InputError("document_sets takes documents whose ids are single words, and shows 0 or more of them")
    known, most = documents, shown

    class Sets(DocumentSets):
        def __init__(self) -> None:
            super().__init__(known, most)

    Sets.__name__ = Sets.__qualname__ = DocumentSets.__name__
    return Sets
