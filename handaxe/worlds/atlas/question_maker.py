"""Questions about the atlas: chains of facts, neighbours, several correct answers, and questions without an answer."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, NamedTuple

from handaxe.worlds.atlas.atlas_records import Country
from handaxe.worlds.atlas.pages import LABELS, NONE, Atlas, Fact
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split

__all__ = ["AtlasLevel", "AtlasQuestion", "LEVELS", "QuestionMaker", "least_pages"]

AtlasLevel = Literal["easy", "medium", "hard"]
LEVELS = ("easy", "medium", "hard")
TEST_REGIONS = ("Northern Europe", "Latin America and the Caribbean")
"""Regions of the test countries; a question about a border into another region is not drawn."""
MARGIN = 1.1
"""Least ratio of the two largest or the two smallest areas."""
VALUES = ("capital", "money", "dial", "people", "near")
"""What a question may ask about a country; people are those of its capital, near is any of its neighbours."""
INSTRUCTION = f"Answer with a name, a code or a number alone, or with {NONE} if there is no answer."
NO_ANSWERS = [NONE, "unknown", "no answer", "unanswerable"]


class AtlasQuestion(NamedTuple):
    """Question with its derivations.

    path: words of the brief question after the first. answers: all correct texts; the first is that of `route`. proofs:
    sets of facts, each of which suffices for a correct answer. route: facts in the order of reading, with the answer
    of the first. entities: codes of all entities of the chain, the first one named in the question.
    """

    kind: str
    text: str
    path: tuple[str, ...]
    answers: tuple[str, ...]
    proofs: tuple[tuple[Fact, ...], ...]
    route: tuple[Fact, ...]
    entities: tuple[str, ...]


class _Base(NamedTuple):
    """Country of a question, described by a start: `words` in a sentence, `path` in key words."""

    country: Country
    words: str
    path: tuple[str, ...]
    facts: tuple[Fact, ...]
    entities: tuple[str, ...]


class _End(NamedTuple):
    """Value of a country at the end of a chain."""

    facts: tuple[Fact, ...]
    answers: tuple[str, ...]
    entities: tuple[str, ...]


class QuestionMaker:
    """Draws questions about the entities of a split. All entities of a chain are in the same split.

    Args:
        atlas: pages and facts.
        split: train or test.
    """

    def __init__(self, atlas: Atlas, split: Split):
        self.atlas, self.records = atlas, atlas.records
        self.countries = {
            code: one
            for code, one in self.records.countries.items()
            if (one.region in TEST_REGIONS) == (split == "test")
        }
        capitals = {one.capital for one in self.countries.values()}
        self.cities = [
            one for one in self.records.cities.values() if one.country in self.countries and one.code not in capitals
        ]
        self.elements = [one for one in self.records.elements.values() if one.found in self.countries]
        self.lost = [
            one
            for one in self.records.elements.values()
            if one.found == "" and content_split("atlas", one.code) == split
        ]
        self.moneys = sorted({one.money for one in self.countries.values() if one.money})

    def draw(self, level: AtlasLevel, rng: random.Random, *, none: bool) -> AtlasQuestion | None:
        """Draw a question, or None where the drawn entities have none.

        Args:
            level: easy has chains and unknown places of discovery, the others ask about neighbours.
            rng: of the question.
            none: without an answer.
        """
        if none and (level == "easy" or rng.random() < 0.1):
            return self._lost_element(rng)
        base = self._base(rng, plain=level == "easy")
        if level == "easy":
            return self._chain(base, rng)
        if none and rng.random() < 0.1:
            return self._no_neighbour(base, rng)
        return self._with_money(base, rng, none=none) if none or rng.random() < 0.4 else self._extreme(base, rng)

    def _base(self, rng: random.Random, *, plain: bool) -> _Base:
        kind = rng.choice(("city", "city", "element", "country") if plain else ("city", "city", "element"))
        if kind == "city":
            city = rng.choice(self.cities)
            land, fact = self.countries[city.country], self.atlas.country(city)
            words = f"the country in which {city.name} lies"
            return _Base(land, words, (city.code, "country"), (fact,), (city.code, land.code))
        if kind == "element":
            element = rng.choice(self.elements)
            land, fact = self.countries[str(element.found)], self.atlas.site(element)
            words = f"the country in which {element.name} was discovered"
            return _Base(land, words, (element.code, "found"), (fact,), (element.code, land.code))
        land = rng.choice(list(self.countries.values()))
        return _Base(land, land.name, (land.code,), (), (land.code,))

    def _end(self, country: Country, kind: str) -> list[_End]:
        """Chains from a country to a value: none for a missing value, several for the neighbours."""
        atlas = self.atlas
        if kind == "near":
            near = self._near(country) or ()
            return [
                _End((atlas.neighbour(country, one, mutual=True),), self._country_names(one), (one,)) for one in near
            ]
        if kind in ("capital", "people"):
            if country.capital is None:
                return []
            city = self.records.cities[country.capital]
            fact = atlas.value(country.code, "capital", city.code)
            if kind == "capital":
                return [_End((fact,), (atlas.name(city.code),), (city.code,))]
            people = str(city.people)
            facts = (fact, atlas.value(city.code, "people", people))
            return [_End(facts, (people, f"{city.people:,}"), (city.code,))]
        value = country.money if kind == "money" else country.dial
        return [_End((atlas.value(country.code, kind, value),), (value,), ())] if value else []

    def _near(self, country: Country) -> tuple[str, ...] | None:
        """Neighbours of a country; None if a neighbour is outside the split."""
        known = country.near is not None and set(country.near) <= set(self.countries)
        return country.near if known else None

    def _all_near(self, country: Country, near: Sequence[str]) -> tuple[Fact, ...]:
        return tuple(self.atlas.neighbour(country, one, mutual=False) for one in near)

    def _country_names(self, code: str) -> tuple[str, ...]:
        one = self.records.countries[code]
        return (code,) if self.atlas.brief else (one.name, *one.aliases)

    def _chain(self, base: _Base, rng: random.Random) -> AtlasQuestion | None:
        kind = rng.choice(VALUES)
        ends = self._end(base.country, kind)
        if not ends:
            return None
        ends = [end._replace(facts=(*base.facts, *end.facts)) for end in ends]
        words = f"What is {_value_words(kind)} {base.words}?"
        if kind == "near":
            words = f"Which country borders {base.words}?"
        return self._question("chain", words, (*base.path, *_path(kind)), base, ends, ends[0].facts)

    def _extreme(self, base: _Base, rng: random.Random) -> AtlasQuestion | None:
        near = self._near(base.country) or ()
        areas = {one: self.countries[one].areas for one in near}
        if len(near) < 2 or None in areas.values():
            return None
        largest = rng.random() < 0.5
        first = _extreme_area({one: pair for one, pair in areas.items() if pair}, largest=largest)
        kind = rng.choice(("", "capital", "money", "dial", "people"))
        ends = self._end(self.countries[first], kind) if first and kind else []
        if first and not kind:
            ends = [_End((), self._country_names(first), (first,))]
        if first is None or not ends:
            return None
        sizes = tuple(self.atlas.value(one, "area", str(pair[0])) for one, pair in areas.items() if pair)
        facts = (*base.facts, *self._all_near(base.country, near), *sizes, *ends[0].facts)
        size = "largest" if largest else "smallest"
        words = f"the {size} neighbour, by area, of {base.words}"
        words = f"What is {_value_words(kind)} {words}?" if kind else f"Which country is {words}?"
        path = (*base.path, "near", "big" if largest else "small", *_path(kind))
        end = ends[0]._replace(facts=facts, entities=(*near, *ends[0].entities))
        return self._question("extreme", words, path, base, [end], facts)

    def _with_money(self, base: _Base, rng: random.Random, *, none: bool) -> AtlasQuestion | None:
        near = self._near(base.country) or ()
        moneys = {one: self.countries[one].money for one in near}
        if not near or None in moneys.values():
            return None
        found = sorted({one for one in moneys.values() if one})
        money = rng.choice([one for one in self.moneys if one not in found] if none else found)
        kind = rng.choice(("", "capital", "dial", "people"))
        path = (*base.path, "near", money, *_path(kind))
        words = f"Which country with the currency {money} borders {base.words}?"
        if kind:
            words = f"What is {_value_words(kind)} a country with the currency {money} that borders {base.words}?"
        checks = {one: self.atlas.value(one, "money", str(value)) for one, value in moneys.items()}
        listed = self._all_near(base.country, near)
        if none:
            facts = (*base.facts, *listed, *checks.values())
            return self._question("none", words, path, base, [_End(facts, tuple(NO_ANSWERS), near)], facts)
        ends: list[_End] = []
        route = (*base.facts, *listed)
        for one in near:
            route = route if ends else (*route, checks[one])
            if moneys[one] == money:
                tails = self._end(self.countries[one], kind) if kind else [_End((), self._country_names(one), ())]
                if not tails:
                    return None
                route = route if ends else (*route, *tails[0].facts)
                border = self.atlas.neighbour(base.country, one, mutual=True)
                facts = (*base.facts, border, checks[one], *tails[0].facts)
                ends.append(_End(facts, tails[0].answers, (one, *tails[0].entities)))
        return self._question("money", words, path, base, ends, route)

    def _no_neighbour(self, base: _Base, rng: random.Random) -> AtlasQuestion | None:
        if self._near(base.country) != ():
            return None
        size = rng.choice(("largest", "smallest"))
        words = f"Which country is the {size} neighbour, by area, of {base.words}?"
        facts = (*base.facts, self.atlas.no_neighbour(base.country))
        path = (*base.path, "near", "big" if size == "largest" else "small")
        return self._question("none", words, path, base, [_End(facts, tuple(NO_ANSWERS), ())], facts)

    def _lost_element(self, rng: random.Random) -> AtlasQuestion:
        element, kind = rng.choice(self.lost), rng.choice(VALUES)
        country = f"the country in which {element.name} was discovered"
        words = f"Which country borders {country}?"
        if kind != "near":
            words = f"What is {_value_words(kind)} {country}?"
        facts = (self.atlas.site(element),)
        base = _Base(next(iter(self.countries.values())), country, (), facts, (element.code,))
        path = (element.code, "found", *_path(kind))
        return self._question("none", words, path, base, [_End(facts, tuple(NO_ANSWERS), ())], facts)

    def _question(
        self, kind: str, words: str, path: tuple[str, ...], base: _Base, ends: list[_End], route: tuple[Fact, ...]
    ) -> AtlasQuestion:
        text = f"{' '.join(path)}?" if self.atlas.brief else f"{words} {INSTRUCTION}"
        answers = tuple(dict.fromkeys(answer for end in ends for answer in end.answers))
        entities = tuple(dict.fromkeys((*base.entities, *(one for end in ends for one in end.entities))))
        return AtlasQuestion(kind, text, path[1:], answers, tuple(end.facts for end in ends), route, entities)


def least_pages(atlas: Atlas, question: AtlasQuestion, limit: int) -> int:
    """Smallest number of pages with all facts of a proof of the question, at most `limit` + 1."""
    proofs = [[atlas.stating(fact) for fact in proof] for proof in question.proofs]
    return min(_cover(proof, limit + 1) for proof in proofs)


def _cover(facts: Sequence[frozenset[tuple[str, int]]], limit: int) -> int:
    """Smallest number of pages with a page of each set, at most `limit`."""
    if not facts or limit <= 0:
        return 0
    first = min(facts, key=len)
    return 1 + min(
        (_cover([one for one in facts if page not in one], limit - 1) for page in sorted(first)), default=limit
    )


def _extreme_area(areas: dict[str, tuple[int, int]], *, largest: bool) -> str | None:
    """Country with the largest or smallest area by both statements; None without a margin."""
    order = sorted(areas, key=lambda one: areas[one], reverse=largest)
    pairs = [sorted((areas[one][source], areas[two][source])) for one, two in [order[:2]] for source in (0, 1)]
    clear = all(large >= MARGIN * small for small, large in pairs)
    same = all(
        areas[order[0]][source] == (max if largest else min)(pair[source] for pair in areas.values())
        for source in (0, 1)
    )
    return order[0] if clear and same else None


def _value_words(kind: str) -> str:
    label = "population of the capital" if kind == "people" else LABELS[kind].lower()
    return f"the {label} of"


def _path(kind: str) -> tuple[str, ...]:
    return () if not kind else ("capital", "people") if kind == "people" else (kind,)
