"""Records of people, places and firms in typed tables, from which questions are made."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed

__all__ = ["KINDS", "TABLES", "TypedRecords", "make_records"]

KINDS: Mapping[str, tuple[int, int]] = {"person": (1000, 4000), "place": (4000, 7000), "firm": (7000, 10_000)}
"""Kind -> range of the names, numbers of four digits, which the tiny policy copies."""
TABLES: Mapping[str, tuple[str, str]] = {
    "aunt": ("person", "person"),
    "boss": ("person", "person"),
    "town": ("person", "place"),
    "firm": ("person", "firm"),
    "mayor": ("place", "person"),
    "port": ("place", "place"),
    "mill": ("place", "firm"),
    "owner": ("firm", "person"),
    "seat": ("firm", "place"),
}
"""Table -> kind of its key and kind of its value."""


class TypedRecords(NamedTuple):
    """Facts, and names of training and test questions.

    facts    (table, key) -> value
    halves   kind -> names of the training half and of the test half; no fact connects them

    Example:
        TypedRecords({("town", "1204"): "4410"}, {"person": (("1204",), ()), "place": (("4410",), ())})
    """

    facts: Mapping[tuple[str, str], str]
    halves: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]


@functools.lru_cache(maxsize=8)
def make_records(*, seed: int, size: int) -> TypedRecords:
    """Invent the records.

    Args:
        seed: equal arguments give equal records.
        size: names of each kind, 16 to 2000; a quarter is the test half.

    Raises:
        InputError: a size out of range.

    Example:
        facts["town", "1204"] == "4410", facts["mayor", "4410"] == "3071"; there is no facts["mayor", "1204"]

    Idea: invented records have one answer for each question, and no pretrained model knows them.
    """
    if not 16 <= size <= 2000:
        raise InputError(f"a kind has 16 to 2000 names, not {size}")
    rng = random.Random(derive_seed("astra records", seed, size))
    halves = {}
    for kind, (low, high) in KINDS.items():
        names = [str(one) for one in rng.sample(range(low, high), size)]
        halves[kind] = (tuple(names[size // 4 :]), tuple(names[: size // 4]))
    facts = {}
    for table, (source, target) in TABLES.items():
        for half in (0, 1):
            for key in halves[source][half]:
                facts[table, key] = rng.choice([one for one in halves[target][half] if one != key])
    return TypedRecords(facts, halves)
