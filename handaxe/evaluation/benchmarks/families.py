"""Families of tasks: accuracy over all members of a family, beside the accuracy on one member.

A member is a world with fixed parameters, such as sums of 3 terms with 2 digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from handaxe.core.records import Task
from handaxe.evaluation.benchmarks.benchmark import Benchmark, BenchmarkPart
from handaxe.evaluation.benchmarks.families_table import TaskFamily, families_table
from handaxe.worlds.gym import gym
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts import reasoning_gym
from handaxe.worlds.world import Split, World

__all__ = ["FAMILIES", "families", "sums_world"]

TASKS = 20
"""Held-out tasks of a member."""
FAMILIES: Mapping[str, TaskFamily] = {
    "sums": TaskFamily({"terms": (2, 3, 4), "digits": (1, 2, 3)}, (3, 2)),
    "hops": TaskFamily({"facts": (1, 2, 3, 4), "namesakes": (0, 1, 2)}, (2, 1)),
}
"""Families by the name of their world; the point is in the middle of the values."""


def families() -> Benchmark:
    """Play every member of two families of tasks.

    Settings: sums of 2, 3 or 4 terms with 1, 2 or 3 digits (9 members), with a calculator; searches for 1 to 4 facts
    with 0, 1 or 2 namesakes a person (12 members). 20 held-out tasks of each member, one trial at temperature 0, at
    most 8 turns of 128 tokens.

    Returns:
        The benchmark; its table has, for each family, the mean accuracy of all members, the lowest and the highest, the
        accuracy of one member, the gap between that member and the family, and the errors of estimates from 3 members.

    Example:
        accuracies (0.9, 0.1) and (0.6, 0.6) of two policies: the first is better on the first member, the second on the
        family, with 0.6 against 0.5

    Paper: arXiv:2210.08607 (Task underspecification).
    Differs: trained policies instead of training methods, and tasks of tools instead of traffic and control.
    """
    parts = [
        BenchmarkPart(family.label(name, member), partial(_world, name, member), TASKS)
        for name, family in FAMILIES.items()
        for member in family.members()
    ]
    table = partial(families_table, families=FAMILIES)
    return Benchmark(name="families", parts=tuple(parts), table=table, max_turns=8, max_tokens=128, room=64)


def _world(name: str, member: tuple[int, ...]) -> World:
    if name == "sums":
        return sums_world(*member)
    return hops(lengths=member[:1], distractors=member[1])


def sums_world(terms: int, digits: int) -> World:
    """Create the world `gym` with sums and differences of one size.

    Args:
        terms: of a question.
        digits: of a term.

    Raises:
        InputError: reasoning-gym is missing.
    """
    size = {"min_terms": terms, "max_terms": terms, "min_digits": digits, "max_digits": digits}

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return reasoning_gym.tasks("chain_sum", count=count, seed=seed, split=split, config={"chain_sum": size})

    tasks("test", 1, 0)  # raises now without reasoning-gym
    return replace(gym(names=("chain_sum",)), tasks=tasks)
