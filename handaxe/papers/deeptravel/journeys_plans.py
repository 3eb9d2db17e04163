"""A generated timetable with hotels, and whether a plan of a journey can be carried out: by rule."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from handaxe.ops.seeds import derive_seed

__all__ = ["Hotel", "Timetable", "Train", "best_plan", "fits_in", "halves", "listed", "routes", "told_apart"]


class Train(NamedTuple):
    """Leaves and arrives at full hours of one day."""

    name: str
    leaves: int
    arrives: int
    price: int

    @property
    def said(self) -> str:
        """As the tool says it."""
        return f"{self.name} {self.leaves:02d}-{self.arrives:02d} {self.price}"


class Hotel(NamedTuple):
    """A room for the stay in a town."""

    name: str
    price: int

    @property
    def said(self) -> str:
        """As the tool says it."""
        return f"{self.name} {self.price}"


class Timetable:
    """What goes between any two towns, and where one stays: `choices` trains and hotels each, the same for one seed.

    Names are a letter and `digits` digits, and differ within a list; prices of a list's trains are equal, so that times
    alone tell them apart, and no two of its hotels cost the same. Ordered, lists begin with the train that arrives
    first and with the cheapest hotel; else they have no order that tells anything.

    Example:
        trains(41, 73): t417 07-09 30, t582 14-17 30;  hotels(73): h310 60, h744 25
    """

    def __init__(self, *, seed: int, choices: int, digits: int = 3, ordered: bool = False):
        self._seed = seed
        self._choices = choices
        self._ordered = ordered
        self._numbers = range(10 ** (digits - 1) if digits > 1 else 0, 10**digits)

    def trains(self, start: int, to: int) -> list[Train]:
        """Between two towns, in this direction."""
        rng = random.Random(derive_seed("trains", self._seed, start, to))
        price = rng.randrange(10, 60)
        names, leaving = rng.sample(self._numbers, self._choices), rng.sample(range(5, 21), self._choices)
        found = [Train(f"t{n}", at, at + rng.randint(1, 3), price) for n, at in zip(names, leaving)]
        return sorted(found, key=_arrival) if self._ordered else found

    def hotels(self, town: int) -> list[Hotel]:
        """Of a town."""
        rng = random.Random(derive_seed("hotels", self._seed, town))
        names, steps = rng.sample(self._numbers, self._choices), rng.sample(range(4), self._choices)
        found = [Hotel(f"h{n}", 20 + 20 * step + rng.randrange(10)) for n, step in zip(names, steps)]
        return sorted(found, key=_price) if self._ordered else found


def listed(plan: str) -> list[str]:
    """The names in a plan, in order, whatever stands between them."""
    return plan.replace(",", " ").split()


def fits_in(table: Timetable, route: Sequence[int], budget: int, plan: Sequence[str]) -> bool:
    """Whether a plan takes a train and then a hotel for every leg, never leaves before it arrives, and can be paid.

        leaves_{k+1} >= arrives_k  for all k        sum of prices <= budget

    Args:
        table: what there is.
        route: towns, the first where the journey begins.
        budget: most that it may cost.
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
    """The plan that takes on every leg the train that arrives first, and the cheapest hotel, with what it costs.

    None where it comes too late for all trains of a leg: then every plan does.
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
    """Without end, through different towns."""
    while True:
        yield rng.sample(list(towns), legs + 1)


@functools.lru_cache(maxsize=8)
def halves(seed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Towns of training and of tests: those of two digits, of which a quarter is asked of in tests alone."""
    towns = list(range(10, 100))
    random.Random(derive_seed("towns", seed)).shuffle(towns)
    cut = len(towns) // 4
    return tuple(towns[cut:]), tuple(towns[:cut])


def told_apart(table: Timetable, route: Sequence[int]) -> bool:
    """Whether all trains and hotels that a journey may take have names of their own."""
    names: list[str] = []
    for start, to in itertools.pairwise(route):
        names += [one.name for one in table.trains(start, to)]
        names += [one.name for one in table.hotels(to)]
    return len(set(names)) == len(names)


def _arrival(one: Train) -> int:
    return one.arrives


def _price(one: Hotel) -> int:
    return one.price
