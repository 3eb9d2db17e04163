"""Three sources about countries: two databases and a text search. No fact is in two sources."""

from __future__ import annotations

import functools
import re
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.ops.cache_path import cache_path, content_digest
from handaxe.tools.index.build_index import build_index
from handaxe.tools.index.search_index import open_index
from handaxe.worlds.atlas.atlas_records import Country, Records, load_records

__all__ = ["MosaicSources", "SOURCES", "SourceCondition", "load_sources"]

SOURCES = ("countries", "cities", "web")
"""Database of countries, database of cities, and search over pages."""
PAGE = re.compile(r"^(?P<name>.+) has the domain (?P<domain>\S+)\. Neighbours: (?P<near>.*)\.$")
LONGEST = 4000


class SourceCondition(NamedTuple):
    """Condition of a question.

    source: one of SOURCES. text: words. query: SQL that selects names for a database; words of a search for the web.
    values: parameters of the SQL; for the web a kind (neighbour, domain, count) and a value.
    """

    source: str
    text: str
    query: str
    values: tuple[str | int, ...]


class MosaicSources:
    """Sources with tools for queries and searches.

    Args:
        records: countries and cities; see `worlds.atlas.atlas_records`. Countries without a fact of a source are left
            out of this source.

    Example:
        load_sources().query("SELECT money FROM countries WHERE name = 'Andorra'") == [("EUR",)]

    Paper: arXiv:2510.02271 (InfoMosaic-Bench), tools of a domain beside web search.
    Differs: two databases and a search over pages of this library replace the servers of six domains.
    """

    def __init__(self, records: Records):
        self._base = sqlite3.connect(":memory:", check_same_thread=False)
        self._base.execute("CREATE TABLE countries (name TEXT, region TEXT, money TEXT, area INTEGER)")
        self._base.execute("CREATE TABLE cities (name TEXT, country TEXT, people INTEGER, zone TEXT)")
        names = {code: one.name for code, one in records.countries.items()}
        rows = [(one.name, one.region, one.money, one.areas[0]) for one in records.countries.values() if one.areas]
        self._base.executemany("INSERT INTO countries VALUES (?, ?, ?, ?)", rows)
        cities = [(one.name, names[one.country], one.people, one.zone) for one in records.cities.values()]
        self._base.executemany("INSERT INTO cities VALUES (?, ?, ?, ?)", cities)
        self._base.execute("PRAGMA query_only = ON")
        self.names = sorted(names.values())
        self.pages = [_page(one, names) for one in records.countries.values() if one.near is not None and one.domain]
        documents = [{"id": str(number), "text": text} for number, text in enumerate(self.pages)]
        folder = cache_path("mosaic", content_digest(self.pages))
        self._found: dict[tuple[SourceCondition, int | None], frozenset[str]] = {}
        self._index = open_index(build_index(documents, folder, dense=False, passage_chars=LONGEST))

    def query(self, sql: str, values: Sequence[str | int] = ()) -> list[tuple[str | int, ...]]:
        """Run a query of the databases.

        Raises:
            InputError: the query is wrong, or changes the databases.
        """
        try:
            return self._base.execute(sql, tuple(values)).fetchall()
        except sqlite3.Error as error:
            raise InputError(
                f"the query {sql[:200]!r} fails: {error}: write a SELECT over countries or cities"
            ) from error

    def search(self, words: str, count: int) -> list[str]:
        """Find the pages closest to the words, by BM25."""
        return [self.pages[int(hit.passage.id)] for hit in self._index.rank(words, count, way="bm25")]

    def find(self, condition: SourceCondition, *, results: int | None = None) -> frozenset[str]:
        """Countries that meet a condition.

        Args:
            condition: of any source.
            results: pages that are read, of a search with the words of the condition; None: all pages.
        """
        key = (condition, results)
        if key not in self._found:
            self._found[key] = self._find(condition, results)
        return self._found[key]

    def _find(self, condition: SourceCondition, results: int | None) -> frozenset[str]:
        if condition.source != "web":
            return frozenset(str(name) for (name,) in self.query(condition.query, condition.values))
        kind, value = condition.values
        pages = self.pages if results is None else self.search(condition.query, results)
        return frozenset(name for name in (_matches(page, str(kind), str(value)) for page in pages) if name)


@functools.cache
def load_sources() -> MosaicSources:
    """Load the sources of all countries, once a process.

    Raises:
        InputError: a package is missing (extra [atlas]).
    """
    return MosaicSources(load_records())


def _page(one: Country, names: dict[str, str]) -> str:
    near = ", ".join(sorted(names[code] for code in one.near or ())) or "none"
    return f"{one.name} has the domain {one.domain}. Neighbours: {near}."


def _matches(page: str, kind: str, value: str) -> str | None:
    """Name of a page's country if the page meets a condition."""
    found = PAGE.match(page)
    if found is None:
        return None
    near = [] if found["near"] == "none" else found["near"].split(", ")
    met = {"neighbour": value in near, "domain": value == found["domain"], "count": value == str(len(near))}
    return found["name"] if met[kind] else None
