"""Pages of the atlas, and facts with their places in the pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from handaxe.tools.index.documents import Document, split_passages
from handaxe.worlds.atlas.atlas_records import ChemicalElement, City, Country, Records

__all__ = ["Atlas", "AtlasPage", "Fact", "NONE", "is_shown"]

NONE = "none"
"""Text for an empty list, and the answer to a question without an answer."""
UNKNOWN = "unknown"
LABELS = {
    "capital": "Capital",
    "money": "Currency",
    "dial": "Calling code",
    "area": "Area",
    "near": "Neighbours",
    "people": "Population",
    "found": "Place of discovery",
}


class AtlasPage(NamedTuple):
    """Page of a document. `page` counts from 1."""

    id: str
    page: int
    text: str


class Fact(NamedTuple):
    """Fact of a derivation.

    query: search that finds it. places: (document, fragment) pairs; a page of the document with the fragment states the
    fact, and each pair suffices.
    """

    query: str
    places: tuple[tuple[str, str], ...]


def is_shown(places: Iterable[Sequence[str]], pages: Iterable[tuple[str, str]]) -> bool:
    """Check whether a (document, text) pair holds a fragment of the document as whole words.

    Example:
        ([("752 dial", "46")], [("752 dial", "46")]) -> True; [("752 dial", "460")] -> False
    """
    wanted = [(document, fragment) for document, fragment in places]
    return any(
        document == one and _has_words(" ".join(text.split()), fragment)
        for one, text in pages
        for document, fragment in wanted
    )


class Atlas:
    """Documents of the records, and facts about them.

    Args:
        records: see `load_records`.
        brief: a document of key words for each fact ("752 dial" with the text "46"); entities are named by their codes.
            Otherwise a document of sentences for each entity.
        chars: character limit of a page.
    """

    def __init__(self, records: Records, *, brief: bool, chars: int):
        self.records, self.brief = records, brief
        self._stating: dict[Fact, frozenset[tuple[str, int]]] = {}
        made: list[Document] = []
        for table in (records.countries, records.cities, records.elements):
            made += [Document(key, key, text) for one in table.values() for key, text in self._texts(one)]
        self.documents = [one._asdict() for one in made]
        self.pages = {
            one.id: [AtlasPage(one.id, part.page, part.text) for part in split_passages(one, chars=chars)]
            for one in made
        }

    def name(self, code: str) -> str:
        """Name of an entity in questions and pages: its code if brief."""
        tables = (self.records.countries, self.records.cities, self.records.elements)
        return code if self.brief else next(table[code].name for table in tables if code in table)

    def stating(self, fact: Fact) -> frozenset[tuple[str, int]]:
        """Pages that state a fact."""
        if fact not in self._stating:
            self._stating[fact] = frozenset(
                (page.id, page.page)
                for document, _ in fact.places
                for page in self.pages.get(document, ())
                if is_shown(fact.places, [(page.id, page.text)])
            )
        return self._stating[fact]

    def value(self, code: str, kind: str, value: str) -> Fact:
        """Fact with a single value: capital, money, dial, area, people or found; capital and found by code."""
        named = self.name(value) if kind in ("capital", "found") and value != UNKNOWN else value
        if self.brief:
            return Fact(f"{code} {kind}", ((f"{code} {kind}", named),))
        name, label = self.name(code), LABELS[kind]
        if kind in ("area", "people"):
            named = f"{int(value):,}"
        fact = (name, f"{label} of {name}: {'+' if kind == 'dial' else ''}{named}")
        back = ((named, f"{named} is the capital of {name}"),) if kind == "capital" else ()
        return Fact(f"{label.lower()} of {name}", (fact, *back))

    def country(self, city: City) -> Fact:
        """The country of a city; in sentences the page of the country also lists the city."""
        if self.brief:
            return Fact(f"{city.code} country", ((f"{city.code} country", city.country),))
        land = self.name(city.country)
        return Fact(f"country of the city {city.name}", ((city.name, land), (land, city.name)))

    def neighbour(self, country: Country, other: str, *, mutual: bool) -> Fact:
        """A border; with `mutual` the page of either country states it, otherwise the list of `country` alone."""
        pairs = [(country.code, other)] + ([(other, country.code)] if mutual else [])
        if self.brief:
            return Fact(f"{country.code} near", tuple((f"{one} near", two) for one, two in pairs))
        places = tuple((self.name(one), self.name(two)) for one, two in pairs)
        return Fact(f"neighbours of {country.name}", places)

    def no_neighbour(self, country: Country) -> Fact:
        """An empty list of neighbours."""
        if self.brief:
            return Fact(f"{country.code} near", ((f"{country.code} near", NONE),))
        return Fact(f"neighbours of {country.name}", ((country.name, f"Neighbours of {country.name}: {NONE}"),))

    def site(self, element: ChemicalElement) -> Fact:
        """Country of discovery of an element, or an unknown place."""
        return self.value(element.code, "found", element.found or UNKNOWN)

    def _texts(self, one: Country | City | ChemicalElement) -> list[tuple[str, str]]:
        if isinstance(one, Country):
            facts = _country_facts(one)
            listed = None if one.near is None else [self.name(code) for code in one.near] or [NONE]
            if not self.brief:
                return [(one.name, self._country_text(one, facts, listed))]
            # The country's code comes first, so that its own list ranks above a list that has it.
            near = [] if listed is None else [("near", f"{one.code}: {' '.join(listed)}")]
            pairs = [("name", one.name), *facts, *near]
        elif isinstance(one, City):
            if not self.brief:
                return [(one.name, self._city_text(one))]
            pairs = [("name", one.name), ("country", one.country), ("people", str(one.people))]
        else:
            found = [] if one.found is None else [("found", one.found or UNKNOWN)]
            if not self.brief:
                return [(one.name, self._element_text(one))]
            pairs = [("name", one.name), ("symbol", one.symbol), *found]
            pairs += [] if one.year is None else [("year", str(one.year))]
        return [(f"{one.code} {kind}", text) for kind, text in pairs]

    def _country_text(self, one: Country, facts: list[tuple[str, str]], near: list[str] | None) -> str:
        lines = [f"{one.name} is a country or territory in {one.region}."]
        lines += [f"Also called {', '.join(one.aliases)}."] if one.aliases else []
        for kind, value in facts:
            shown = self.name(value) if kind == "capital" else f"+{value}" if kind == "dial" else value
            shown = f"{int(value):,} km2" if kind == "area" else shown
            lines.append(f"{LABELS.get(kind, 'Internet domain')} of {one.name}: {shown}.")
        lines += [] if near is None else [f"{LABELS['near']} of {one.name}: {', '.join(near)}."]
        cities = [city.name for city in self.records.cities.values() if city.country == one.code]
        return "\n".join([*lines, f"Cities of {one.name}: {', '.join(cities)}."] if cities else lines)

    def _city_text(self, one: City) -> str:
        land = self.records.countries[one.country]
        capital = [f"{one.name} is the capital of {land.name}."] if land.capital == one.code else []
        lines = [f"{one.name} is a city; its country is {land.name}.", *capital]
        return "\n".join([*lines, f"Population of {one.name}: {one.people:,}.", f"Time zone: {one.zone}."])

    def _element_text(self, one: ChemicalElement) -> str:
        lines = [f"{one.name} ({one.symbol}) is the element with the atomic number {one.code[1:]}."]
        if one.found is not None:
            when = f" in {one.year}" if one.year else ""
            site = self.name(one.found) if one.found else UNKNOWN
            lines.append(f"{LABELS['found']} of {one.name}: {site}{when}.")
        return "\n".join([*lines, *one.text])


def _country_facts(one: Country) -> list[tuple[str, str]]:
    area = None if one.areas is None else str(one.areas[0])
    pairs = ("capital", one.capital), ("money", one.money), ("dial", one.dial), ("domain", one.domain), ("area", area)
    return [(kind, value) for kind, value in pairs if value]


def _has_words(text: str, fragment: str) -> bool:
    return fragment in text and re.search(rf"(?<!\w){re.escape(fragment)}(?!\w)", text) is not None
