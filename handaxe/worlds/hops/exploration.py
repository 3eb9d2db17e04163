"""Exploration of the world `hops`: openings name a person, and proposals ask for facts in the search results."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence

from handaxe.core.records import Message, Task, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.hops.knowledge_base import KnowledgeBase, chain_task
from handaxe.worlds.world import Exploration

__all__ = ["hops_exploration", "shown_facts"]

SHOWN = (
    re.compile(r"\] (\w+) (\w+) (\w+)$", re.MULTILINE),
    re.compile(r"\] The (\w+) of (\w+) is (\w+)\.$", re.MULTILINE),
)
"""Patterns of a passage in key words and of a passage in sentences."""


def hops_exploration(known: KnowledgeBase, *, lengths: Sequence[int], brief: bool) -> Exploration:
    """Create openings that name a training person, and proposals of every chain of known facts with a given length.

    Args:
        known: the facts; only names of the training half are read.
        lengths: chain lengths.
        brief: as in `hops`.

    Example:
        "4071?" with a search that returns "4071 boss 5526" and another that returns "5526 ally 1390"
        ->  "4071 boss?", "4071 boss ally?" and "5526 ally?"
    """
    names = known.halves[0]

    def openings(count: int, seed: int) -> list[Task]:
        rng = random.Random(derive_seed("exploring hops", seed))
        return [Task(f"exploring-{seed}-{k}", (Message("user", f"{rng.choice(names)}?"),)) for k in range(count)]

    def propose(trajectory: Trajectory) -> list[Task]:
        facts = {key: value for key, value in shown_facts(trajectory, brief=brief).items() if key[0] in names}
        chains = [
            chain for start in dict.fromkeys(name for name, _ in facts) for chain in _chains(facts, start, max(lengths))
        ]
        wanted = [(visited, path) for visited, path in chains if len(path) in lengths]
        return [chain_task(f"explored-{'-'.join((v[0], *path))}", v, path, brief=brief) for v, path in wanted]

    return Exploration(openings, propose)


def shown_facts(trajectory: Trajectory, *, brief: bool) -> dict[tuple[str, str], str]:
    """Parse (name, relation) -> name from the tool results of a trajectory, in order."""
    found: dict[tuple[str, str], str] = {}
    for reply in trajectory.replies:
        for first, second, value in SHOWN[0 if brief else 1].findall(reply.content if reply.status == "ok" else ""):
            found.setdefault((first, second) if brief else (second, first), value)
    return found


def _chains(
    facts: Mapping[tuple[str, str], str], start: str, limit: int, previous: tuple[str, ...] = ()
) -> Iterator[tuple[list[str], list[str]]]:
    """All acyclic chains from a person with at most `limit` facts."""
    for (name, relation), value in facts.items():
        if name == start and value not in (*previous, start):
            yield [start, value], [relation]
            if limit > 1:
                for visited, path in _chains(facts, value, limit - 1, (*previous, start)):
                    yield [start, *visited], [relation, *path]
