"""Generated timetable with hotels, and rule-based validation of plans."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from handaxe.ops.seeds import derive_seed

__all__ = [
    "Hotel",
    "Timetable",
    "Train",
    "best_plan",
    "halves",
    "has_distinct_names",
    "is_feasible",
    "plan_names",
    "routes",
]


class Train(NamedTuple):
    """Departure and arrival at full hours of a day."""

    name: str
    leaves: int
    arrives: int
    price: int

    @property
    def to_text(self) -> str:
        """Format for the tool result."""
        return f"{self.name} {self.leaves:02d}-{self.arrives:02d} {self.price}"


class Hotel(NamedTuple):
    """Room for the stay in a town."""

    name: str
    price: int

    @property
    def to_text(self) -> str:
        """Format for the tool result."""
        return f"{self.name} {self.price}"


class Timetable:
    """Trains between any two towns and hotels of any town, `choices` each, as a function of the seed.

    Names are a letter and `digits` digits, distinct within a list. Prices of a list's trains are equal, so that only
    times matter; prices of a town's hotels are distinct. Ordered lists begin with the earliest arrival and with the
    cheapest hotel; otherwise the order is random.

    Example:
        trains(41, 73): t417 07-09 30, t582 14-17 30;  hotels(73): h310 60, h744 25
    """

    def __init__(self, *, seed: int, choices: int, digits: int = 3, ordered: bool = False):
        self._seed = seed
        self._choices = choices
        self._ordered = ordered
        self._numbers = range(10 ** (digits - 1) if digits > 1 else 0, 10**digits)

    def trains(self, start: int, to: int) -> list[Train]:
        """List the trains from a town to another."""
        rng = random.Random(derive_seed("trains", self._seed, start, to))
        price = rng.randrange(10, 60)
        names, leaving = rng.sample(self._numbers, self._choices), rng.sample(range(5, 21), self._choices)
        found = [Train(f"t{n}", at, at + rng.randint(1, 3), price) for n, at in zip(names, leaving)]
        return sorted(found, key=_arrival) if self._ordered else found

    def hotels(self, town: int) -> list[Hotel]:
        """List the hotels of a town."""
        rng = random.Random(derive_seed("hotels", self._seed, town))
        names, steps = rng.sample(self._numbers, self._choices), rng.sample(range(4), self._choices)
        found = [Hotel(f"h{n}", 20 + 20 * step + rng.randrange(10)) for n, step in zip(names, steps)]
        return sorted(found, key=_price) if self._ordered else found


def plan_names(plan: str) -> list[str]:
    """Parse the names of a plan, in order, with any separators."""
    return plan.replace(",", " ").split()


def is_feasible(table: Timetable, route: Sequence[int], budget: int, plan: Sequence[str]) -> bool:
    """Check whether a plan has a train and a hotel for every leg, respects arrival times, and stays within the budget.

        leaves_{k+1} >= arrives_k  for all k        sum of prices <= budget

    Args:
        table: trains and hotels.
        route: towns, the starting town first.
        budget: maximum total price.
        plan: names.

    Example:
        trains at 07-09 and 11-12 with hotels for 25 and 30, both trains for 20: fits a budget of 95, and not of 94
    """
    if len(plan) != 2 * (len(route) - 1):
        return False
    now = spent = 0
    for k, (start, to) in enumerate(itertools.pairwise(route)):
        train = next((one for one in table.trains(start, to) if one.name == plan[2 * k]), None)
        hotel = next((one for one in table.hotels(to) if one.name == plan[2 * k + 1]), None)
        if train is None or hotel is None or train.leaves < now:
            return False
        now, spent = train.arrives, spent + train.price + hotel.price
    return spent <= budget


def best_plan(table: Timetable, route: Sequence[int]) -> tuple[list[str], int] | None:
    """Compute the plan with the earliest arrival and the cheapest hotel on every leg, and its price.

    Returns None if no train of a leg leaves late enough: then no plan is possible.
    """
    plan: list[str] = []
    now = spent = 0
    for start, to in itertools.pairwise(route):
        train = min((one for one in table.trains(start, to) if one.leaves >= now), key=_arrival, default=None)
        if train is None:
            return None
        hotel = min(table.hotels(to), key=_price)
        now, spent = train.arrives, spent + train.price + hotel.price
        plan += [train.name, hotel.name]
    return plan, spent


def routes(towns: Sequence[int], legs: int, rng: random.Random) -> Iterator[list[int]]:
    """Generate random routes through distinct towns without end."""
    while True:
        yield rng.sample(list(towns), legs + 1)


@functools.lru_cache(maxsize=8)
def halves(seed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split the towns of two digits into training and test towns; a quarter is in test."""
    towns = list(range(10, 100))
    random.Random(derive_seed("towns", seed)).shuffle(towns)
    cut = len(towns) // 4
    return tuple(towns[cut:]), tuple(towns[:cut])


def has_distinct_names(table: Timetable, route: Sequence[int]) -> bool:
    """Check whether the names of all trains and hotels of a journey are distinct."""
    names: list[str] = []
    for start, to in itertools.pairwise(route):
        names += [one.name for one in table.trains(start, to)]
        names += [one.name for one in table.hotels(to)]
    return len(set(names)) == len(names)


def _arrival(one: Train) -> int:
    return one.arrives


def _price(one: Hotel) -> int:
    return one.price
