"""DynaICL (arXiv:2305.11170): a controller chooses the number of demonstrations of each prompt under a budget."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from handaxe.evaluation.frozen_policy import started_policy
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import difference_figures
from handaxe.papers.dynaicl.budget_figures import BUDGETS, budget_figures
from handaxe.papers.dynaicl.shown_examples import ExamplePlayer, make_pool
from handaxe.papers.dynaicl.train_controllers import ControllerStages, train_controllers
from handaxe.worlds.hops.coded_hops import coded_hops

__all__ = ["dynaicl"]

SHARES = (0.6, 0.3, 0.1)
"""Shares of the codes in the pool of demonstrations."""
PLAIN = 0.34
"""Share of questions that need no demonstration."""


def dynaicl(
    *,
    seeds: int = 5,
    most: int = 4,
    prompts: int = 16,
    subsets: int = 2,
    threshold: float = 0.5,
    steps: int = 4,
    batch: int = 16,
    cost: float = 0.1,
    tasks: int = 24,
) -> StudyFunction:
    """Compare numbers of demonstrations by a controller with equal numbers, for a frozen policy in `coded_hops`.

    A demonstration is a line with a question and its chain of searches, drawn at random from a pool. Questions with
    named relations need none; a question with a code needs a demonstration of this code, frequent or rare in the pool.

    Figures:
        uniform/B, taught/B, reinforced/B    pass@1 with the budget of B demonstrations a prompt: equal numbers, and
                                             numbers of the controller after each stage
        ARM/B/used                           mean demonstrations of a prompt
        gain/B                               reinforced less uniform, mean over seeds; /low and /high are the ends of
                                             its 95 % interval. gain_taught/B: reinforced less taught
        gain_fewer                           reinforced/2 less uniform/3: two demonstrations instead of three
        plain/count, coded/count             mean predicted number of questions without and with a code
        taught/reward, reinforced/reward     mean of R on held-out prompts with numbers drawn from the controller;
                                             gain_reward is their difference

    Args:
        seeds: of prompts and rollouts, from the study's seed on.
        most: K, demonstrations of a prompt at most.
        prompts: training prompts with a label.
        subsets: random subsets of each number, for a label.
        threshold: t of the label.
        steps: of REINFORCE.
        batch: prompts of a step.
        cost: alpha.
        tasks: held-out prompts of a seed.
    """

    stages = ControllerStages(most, prompts, subsets, threshold, batch, cost)

    def measure(seed: int) -> dict[str, float]:
        taught = coded_hops(fresh=True, shown=4, absent=0.15, plain=0.2)
        world = coded_hops(codes=len(SHARES), shown=0, plain=PLAIN)
        pool = make_pool(world, shares=SHARES, count=40, seed=0)
        player = ExamplePlayer(started_policy(taught, world), pool)
        runs = []
        for number in range(seed, seed + seeds):
            learned, held_out = (
                world.tasks("train", prompts + steps * batch, number),
                world.tasks("test", tasks, number),
            )
            controllers = train_controllers(player, learned, stages, seed=number)
            runs.append(budget_figures(player, controllers, held_out, cost=cost, most=most, seed=number))
        return _figures({key: np.array([run[key] for run in runs]) for key in runs[0]})

    return measure


def _figures(found_S: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Means over seeds, and paired differences."""
    gains = dict[str, tuple[str, str]]()
    for budget in BUDGETS:
        gains[f"gain/{budget}"] = (f"reinforced/{budget}", f"uniform/{budget}")
        gains[f"gain_taught/{budget}"] = (f"reinforced/{budget}", f"taught/{budget}")
    gains |= {"gain_reward": ("reinforced/reward", "taught/reward"), "gain_fewer": ("reinforced/2", "uniform/3")}
    return {key: float(np.nanmean(own)) for key, own in found_S.items()} | difference_figures(found_S, gains)
