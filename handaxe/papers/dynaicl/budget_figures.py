"""Accuracy under budgets of demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from handaxe.core.records import Task
from handaxe.ops.seeds import derive_seed
from handaxe.papers.dynaicl.count_controller import CountController
from handaxe.papers.dynaicl.count_rules import allocate_counts, count_reward
from handaxe.papers.dynaicl.shown_examples import ExamplePlayer
from handaxe.papers.dynaicl.train_controllers import prompt_vectors

__all__ = ["BUDGETS", "budget_figures", "budgeted_counts"]

BUDGETS = (1, 2, 3)
"""Mean demonstrations of a prompt."""


def budget_figures(
    player: ExamplePlayer,
    controllers: Mapping[str, CountController],
    tasks: Sequence[Task],
    *,
    cost: float,
    most: int,
    seed: int,
) -> dict[str, float]:
    """Play held-out prompts with equal numbers of demonstrations, and with those of controllers.

    Args:
        player: frozen policy with the pool.
        controllers: stage -> controller.
        tasks: held-out prompts.
        cost: alpha.
        most: K, demonstrations of a prompt at most.
        seed: of the draws.

    Returns:
        ARM/B and ARM/B/used by budget; STAGE/reward; plain/count and coded/count.

    Example:
        uniform/2/used 2;  taught/2/used at most 2

    Paper: arXiv:2305.11170 (DynaICL), comparison at equal budgets.
    Differs: a demonstration is the unit of the budget.
    """
    prompt_PD, own = prompt_vectors(tasks), derive_seed(seed, "held out")
    predicted = {name: one.expected(prompt_PD) for name, one in controllers.items()}
    figures = dict[str, float]()
    for budget in BUDGETS:
        arms = {name: budgeted_counts(wanted_P, budget, most) for name, wanted_P in predicted.items()}
        for name, counts in {"uniform": [budget] * len(tasks), **arms}.items():
            figures[f"{name}/{budget}"] = float(np.mean(player.correct(tasks, counts, seed=own)))
            figures[f"{name}/{budget}/used"] = float(np.mean(counts))
    for name, one in controllers.items():
        counts = one.sample(prompt_PD)
        found = player.correct(tasks, counts, seed=own)
        rewards = [count_reward(own, count, cost=cost) for own, count in zip(found, counts, strict=True)]
        figures[f"{name}/reward"] = float(np.mean(rewards))
    is_plain = np.array([task.metadata["code"] == "plain" for task in tasks])
    for name, mask_P in (("plain", is_plain), ("coded", ~is_plain)):
        figures[f"{name}/count"] = float(predicted["reinforced"][mask_P].mean())
    return figures


def budgeted_counts(wanted_P: np.ndarray, budget: int, most: int) -> list[int]:
    """Allocate numbers of demonstrations under a budget; a demonstration has length 1.

    Args:
        wanted_P: predicted numbers.
        budget: mean demonstrations of a prompt.
        most: K.

    Example:
        predictions 0.1, 0.1, 4 and budget 3 -> 0, 0, 4

    Paper: arXiv:2305.11170 (DynaICL), allocation under a budget.
    Differs: counts that exceed the budget by rounding are lowered, the smallest predictions first.
    """
    counts = allocate_counts(wanted_P.tolist(), tokens=float(budget * len(wanted_P)), length=1.0, most=most)
    for place in np.argsort(wanted_P):  # rounding up may exceed the budget: the smallest predictions give way
        if sum(counts) <= budget * len(wanted_P):
            break
        counts[place] = max(0, counts[place] - 1)
    return counts
