"""Small invented world of people, towns, rivers and more, related by facts."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed

__all__ = ["Entity", "LibraryWorld", "RELATIONS", "Relation", "build_world"]

SHARES = {"person": 0.4, "town": 0.2, "book": 0.2, "river": 0.08, "region": 0.06, "mountain": 0.06}
"""Share of each kind among all entities."""
ONSETS = ("b", "br", "d", "dr", "f", "g", "k", "kr", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "z")
VOWELS = ("a", "e", "i", "o", "u")
CODAS = ("", "", "l", "m", "n", "r", "s", "k")
JOBS = ("baker", "carver", "dancer", "farmer", "glazier", "hunter", "mason", "miller", "painter", "potter", "sailor",
        "singer", "smith", "tailor", "tanner", "weaver")  # fmt: skip
GOODS = ("amber", "barley", "cheese", "copper", "flax", "glass", "honey", "iron", "leather", "oil", "paper", "salt",
         "silk", "tea", "wine", "wool")  # fmt: skip
SUBJECTS = ("bees", "birds", "bridges", "clocks", "dreams", "fish", "gardens", "horses", "maps", "music", "ships",
            "snow", "stars", "stones", "storms", "trees")  # fmt: skip


class Relation(NamedTuple):
    """Relation from a kind of entity to a single value, for unique answers.

    goal: the kind of the answer; "" for a plain word or number.
    label: name in questions ("the birth year of tolven") and documents ("birth year: 1512.").
    """

    kind: str
    goal: str
    label: str


RELATIONS: Mapping[str, Relation] = {
    relation.label: relation
    for relation in (
        Relation("person", "person", "teacher"),
        Relation("person", "town", "birthplace"),
        Relation("person", "", "birth year"),
        Relation("person", "", "job"),
        Relation("person", "book", "favourite book"),
        Relation("town", "river", "river"),
        Relation("town", "region", "region"),
        Relation("town", "person", "mayor"),
        Relation("town", "", "founding year"),
        Relation("town", "", "main good"),
        Relation("book", "person", "author"),
        Relation("book", "", "printing year"),
        Relation("book", "", "subject"),
        Relation("river", "mountain", "source"),
        Relation("river", "", "length"),
        Relation("region", "town", "capital"),
        Relation("mountain", "", "height"),
    )
}
"""By label, in document order."""


class Entity(NamedTuple):
    """Entity of the world. alias: second name, explained in the entity's own document only; mostly "".

    facts: relation -> answer, the name of an entity or a plain word or number.
    """

    name: str
    kind: str
    alias: str
    facts: Mapping[str, str]


class LibraryWorld(NamedTuple):
    """Entities by name. halves: names of the training half and of the test half; no fact connects them."""

    entities: Mapping[str, Entity]
    halves: tuple[tuple[str, ...], tuple[str, ...]]


@functools.lru_cache(maxsize=8)
def build_world(*, seed: int, size: int) -> LibraryWorld:
    """Invent a world.

    Names and aliases are distinct single lower-case words of two or three syllables, different from words of labels and
    answers. One entity in four has an alias. A quarter of every kind is the test half.

    Args:
        seed: equal seeds and sizes give equal worlds.
        size: approximate number of entities, 60 to 20,000.

    Raises:
        InputError: size out of range.
    """
    if not 60 <= size <= 20_000:
        raise InputError(f"a world of {size} entities is too small or large; give 60 to 20000")
    rng = random.Random(derive_seed("library world", seed, size))
    counts = {kind: max(4, round(size * share)) for kind, share in SHARES.items()}
    names = _names(rng, 2 * sum(counts.values()))
    halves: tuple[list[str], list[str]] = ([], [])
    entities: dict[str, Entity] = {}
    kinds: dict[str, str] = {}
    members: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
    for kind, count in counts.items():
        for number in range(count):
            # At least two test entities of each kind: nobody is their own teacher.
            half = 1 if number < max(2, count // 4) else 0
            name = names.pop()
            kinds[name] = kind
            halves[half].append(name)
            members[half].setdefault(kind, []).append(name)
    for half in (0, 1):
        for name in halves[half]:
            alias = names.pop() if rng.random() < 0.25 else ""
            facts = {
                key: _fact(rng, key, relation, name, members[half])
                for key, relation in RELATIONS.items()
                if relation.kind == kinds[name]
            }
            entities[name] = Entity(name, kinds[name], alias, facts)
    return LibraryWorld(entities, (tuple(halves[0]), tuple(halves[1])))


def _fact(rng: random.Random, key: str, relation: Relation, name: str, members: Mapping[str, list[str]]) -> str:
    if relation.goal:
        return rng.choice([other for other in members[relation.goal] if other != name])
    if key in ("job", "main good", "subject"):
        return rng.choice({"job": JOBS, "main good": GOODS, "subject": SUBJECTS}[key])
    low, high = {"founding year": (900, 1400), "length": (10, 900), "height": (1000, 9000)}.get(key, (1400, 1800))
    return str(rng.randrange(low, high))


def _names(rng: random.Random, count: int) -> list[str]:
    used = {word for label in RELATIONS for word in label.split()} | {*JOBS, *GOODS, *SUBJECTS, *SHARES}
    names: list[str] = []
    while len(names) < count:
        syllables = 2 if rng.random() < 0.5 else 3
        name = "".join(rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(syllables)) + rng.choice(CODAS)
        if name not in used:
            used.add(name)
            names.append(name)
    return names
