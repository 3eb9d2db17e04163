"""Questions of a frozen policy with a number of random demonstrations in the prompt."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.records import Task
from handaxe.evaluation.frozen_policy import FrozenPolicy
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.hops.coded_hops import case_line, with_cases
from handaxe.worlds.world import World

__all__ = ["ExamplePlayer", "make_pool"]


def make_pool(world: World, *, shares: Sequence[float], count: int, seed: int) -> list[str]:
    """Make demonstrations of training questions, some codes more frequent than others.

    Args:
        world: of the questions.
        shares: of the codes in the order of their names, summing to 1.
        count: demonstrations.
        seed: of questions and order.

    Returns:
        Lines such as "+ 2320 K: boss ally".

    Example:
        shares 0.75, 0.25 and count 8: six lines of one code, two of another

    Idea: a rare demonstration is in few random subsets, so that questions differ in the number that they need.
    """
    tasks = [task for task in world.tasks("train", 40 * count, seed) if task.metadata["code"] != "plain"]
    by_code: dict[str, list[str]] = {}
    for task in tasks:
        line = case_line(task.messages[-1].content, task.metadata["path"], 1.0)
        by_code.setdefault(task.metadata["code"], []).append(line)
    codes = sorted(by_code)
    lines = [line for code, share in zip(codes, shares, strict=True) for line in by_code[code][: round(share * count)]]
    random.Random(derive_seed("pool", seed)).shuffle(lines)
    return lines


class ExamplePlayer(NamedTuple):
    """Frozen policy, and the pool of its demonstrations.

    Example:
        ExamplePlayer(policy, pool).correct(tasks, [0, 2, 4], seed=0) -> such as [0.0, 1.0, 1.0]

    Paper: arXiv:2305.11170 (DynaICL), accuracy with k random demonstrations.
    Differs: a demonstration is a line with question and searches.
    """

    policy: FrozenPolicy
    pool: Sequence[str]

    def correct(self, tasks: Sequence[Task], counts: Sequence[int], *, seed: int) -> list[float]:
        """Play each task with random demonstrations before its question; returns 1 or 0 each.

        Args:
            tasks: questions.
            counts: number of demonstrations of each.
            seed: of demonstrations and rollouts.
        """
        prompted = []
        for number, (task, count) in enumerate(zip(tasks, counts, strict=True)):
            rng = random.Random(derive_seed("shown examples", seed, number, task.id))
            prompted.append(with_cases(task, rng.sample(list(self.pool), count)))
        return [reward for _, reward in self.policy.play(prompted, seed=seed)]
