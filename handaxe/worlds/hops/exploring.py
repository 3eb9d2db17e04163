"""How the world of hops is tried out without a task: somebody is named, and what searches show may be asked."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence

from handaxe.core.records import Message, Task, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.hops.facts import KnowledgeBase, asked_task
from handaxe.worlds.world import Exploring

__all__ = ["exploring_hops", "shown_facts"]

SHOWN = (
    re.compile(r"\] (\w+) (\w+) (\w+)$", re.MULTILINE),
    re.compile(r"\] The (\w+) of (\w+) is (\w+)\.$", re.MULTILINE),
)
"""A passage in key words, and one that is a sentence."""


def exploring_hops(known: KnowledgeBase, *, lengths: Sequence[int], brief: bool) -> Exploring:
    """Name somebody of whom training asks; propose every chain of these lengths through the facts that were shown.

    Args:
        known: the facts, of which the names of the training half are read alone.
        lengths: of chains.
        brief: as of `hops`.

    Example:
        "4071?" with a search that shows "4071 boss 5526" and one that shows "5526 ally 1390"
        ->  "4071 boss?", "4071 boss ally?" and "5526 ally?"
    """
    names = known.halves[0]

    def openings(count: int, seed: int) -> list[Task]:
        rng = random.Random(derive_seed("exploring hops", seed))
        return [Task(f"exploring-{seed}-{k}", (Message("user", f"{rng.choice(names)}?"),)) for k in range(count)]

    def propose(attempt: Trajectory) -> list[Task]:
        facts = {key: value for key, value in shown_facts(attempt, brief=brief).items() if key[0] in names}
        chains = [
            chain for start in dict.fromkeys(name for name, _ in facts) for chain in _chains(facts, start, max(lengths))
        ]
        wanted = [(visited, path) for visited, path in chains if len(path) in lengths]
        return [asked_task(f"explored-{'-'.join((v[0], *path))}", v, path, brief=brief) for v, path in wanted]

    return Exploring(openings, propose)


def shown_facts(attempt: Trajectory, *, brief: bool) -> dict[tuple[str, str], str]:
    """(name, relation) -> name, of all that replies of an attempt showed, in order."""
    found: dict[tuple[str, str], str] = {}
    for reply in attempt.replies:
        for first, second, value in SHOWN[0 if brief else 1].findall(reply.content if reply.status == "ok" else ""):
            found.setdefault((first, second) if brief else (second, first), value)
    return found


def _chains(
    facts: Mapping[tuple[str, str], str], start: str, most: int, before: tuple[str, ...] = ()
) -> Iterator[tuple[list[str], list[str]]]:
    """All chains of at most so many facts from somebody on that go in no circle."""
    for (name, relation), value in facts.items():
        if name == start and value not in (*before, start):
            yield [start, value], [relation]
            if most > 1:
                for visited, path in _chains(facts, value, most - 1, (*before, start)):
                    yield [start, *visited], [relation, *path]
