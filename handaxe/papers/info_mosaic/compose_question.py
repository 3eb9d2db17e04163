"""Synthesis of joint questions: verified facts of a country, made vaguer where one of them identifies the country."""

from __future__ import annotations

import random
from typing import NamedTuple

from handaxe.papers.info_mosaic.mosaic_sources import MosaicSources, SourceCondition

__all__ = ["MosaicQuestion", "compose_question"]

NARROW = 0.1
WIDE = 0.6
"""Relative half-widths of a range, first and after fuzzing."""
Steps = list[SourceCondition]
"""A condition and its vaguer forms."""


class MosaicQuestion(NamedTuple):
    """Question with a single answer. conditions: one of each source. fuzzed: number of vaguer conditions."""

    answer: str
    conditions: tuple[SourceCondition, ...]
    fuzzed: int

    @property
    def text(self) -> str:
        """The question in words."""
        return "Which country meets all conditions? " + "; ".join(one.text for one in self.conditions) + "."


def compose_question(sources: MosaicSources, rng: random.Random) -> MosaicQuestion | None:
    """Draw a country and a condition of each source.

    1. Information seeking: the facts of the country are read from the sources.
    2. Refinement: a condition that the answer alone meets is replaced by a vaguer form that others meet.

    Args:
        sources: of the facts.
        rng: of country and conditions.

    Returns:
        The question; None if a fact is missing, a condition has no form that others meet, or the conditions together
        do not identify the country.

    Example:
        "the currency is EUR; a city has 80,000 to 100,000 people; a neighbour is Germany"

    Paper: arXiv:2510.02271 (InfoMosaic-Bench), InfoMosaic-Flow, both stages.
    Unconfirmed: details of the stages; from the abstract and summaries.
    Differs: templates instead of language models.
    """
    answer = rng.choice(sources.names)
    drawn = [_of_countries(sources, answer, rng), _of_cities(sources, answer, rng), _of_web(sources, answer, rng)]
    conditions: list[SourceCondition] = []
    fuzzed = 0
    for steps in drawn:
        shared = [one for one in steps if len(sources.find(one)) > 1]
        if not shared:
            return None
        conditions.append(shared[0])
        fuzzed += shared[0] != steps[0]
    met = frozenset.intersection(*(sources.find(one) for one in conditions))
    return MosaicQuestion(answer, tuple(conditions), fuzzed) if met == {answer} else None


def _of_countries(sources: MosaicSources, answer: str, rng: random.Random) -> Steps:
    rows = sources.query("SELECT region, money, area FROM countries WHERE name = ?", (answer,))
    if not rows:
        return []
    region, money, area = rows[0]
    regional = SourceCondition(
        "countries", f"the region is {region}", "SELECT name FROM countries WHERE region = ?", (region,)
    )
    if money is not None and rng.random() < 0.5:
        sql = "SELECT name FROM countries WHERE money = ?"
        return [SourceCondition("countries", f"the currency is {money}", sql, (money,)), regional]
    sql = "SELECT name FROM countries WHERE area BETWEEN ? AND ?"
    return [
        SourceCondition("countries", f"the area is {low:,} to {high:,} km2", sql, (low, high))
        for low, high in (_around(int(area), width) for width in (NARROW, WIDE))
    ]


def _of_cities(sources: MosaicSources, answer: str, rng: random.Random) -> Steps:
    rows = sources.query("SELECT people, zone FROM cities WHERE country = ? ORDER BY people, name", (answer,))
    if not rows:
        return []
    people, zone = rng.choice(rows)
    if rng.random() < 0.5:
        exact = "SELECT DISTINCT country FROM cities WHERE zone = ?"
        wide = "SELECT DISTINCT country FROM cities WHERE zone LIKE ?"
        area = str(zone).split("/")[0]
        return [
            SourceCondition("cities", f"a city is in the time zone {zone}", exact, (zone,)),
            SourceCondition("cities", f"a city is in a time zone of {area}", wide, (f"{area}/%",)),
        ]
    sql = "SELECT DISTINCT country FROM cities WHERE people BETWEEN ? AND ?"
    return [
        SourceCondition("cities", f"a city has {low:,} to {high:,} people", sql, (low, high))
        for low, high in (_around(int(people), width) for width in (NARROW, WIDE))
    ]


def _of_web(sources: MosaicSources, answer: str, rng: random.Random) -> Steps:
    page = next((one for one in sources.pages if one.startswith(f"{answer} has the domain ")), None)
    if page is None:
        return []
    domain = page.split(" has the domain ")[1].split(". ")[0]
    listed = page.split(". Neighbours: ")[1].rstrip(".")
    near = [] if listed == "none" else listed.split(", ")
    counted = SourceCondition("web", f"there are {len(near)} neighbours", "neighbours", ("count", len(near)))
    steps = [SourceCondition("web", f"the internet domain is {domain}", f"domain {domain}", ("domain", domain))]
    if near:
        other = rng.choice(near)
        bordering = SourceCondition("web", f"a neighbour is {other}", f"neighbours {other}", ("neighbour", other))
        steps = [bordering] if rng.random() < 0.5 else [*steps, bordering]
    return [*steps, counted]


def _around(value: int, width: float) -> tuple[int, int]:
    return round(value * (1 - width)), round(value * (1 + width))
