"""Figures of rewards that agents design themselves, measured by REINFORCE on sampled episodes."""

from __future__ import annotations

import numpy as np

from handaxe.ops.finite_mdp import optimal_action_values
from handaxe.ops.seeds import generator
from handaxe.papers.reward_design.compare_designs import gain_figures
from handaxe.papers.reward_design.explors import SelfDesign, self_designed_training
from handaxe.papers.reward_design.navigation import Navigation

__all__ = ["compare_agents"]

PARTS = {"true": (False, False), "intrinsic": (True, False), "bonus": (False, True), "explors": (True, True)}
"""Reward -> with intrinsic reward, with count bonus."""
LEVEL = 0.5
"""Share of the optimal return that counts as learned."""


def compare_agents(navigation: Navigation, seed: int, *, runs: int, design: SelfDesign) -> dict[str, float]:
    """Compare the true reward with an intrinsic reward, a count bonus, and both (EXPLORS).

    Figures:
        REWARD, REWARD/end   true return as a share of the optimum, mean over the episodes and at the end
        REWARD/episodes      episodes until half of the optimum, mean over runs; all episodes for a run below half
        gain/REWARD          EXPLORS less REWARD; /low: lower end of the 95 % interval over runs

    Args:
        navigation: process.
        seed: of the episodes.
        runs: agents of a reward.
        design: sizes.

    Example:
        compare_agents(chain(), 0, runs=16, design=SelfDesign())["explors/episodes"]

    Idea: agents of all rewards run side by side, with equal sizes.
    """
    learns_N, explores_N = (np.repeat([part[place] for part in PARTS.values()], runs) for place in (0, 1))
    rng = generator("self-designed rewards", seed)
    curves_NE = self_designed_training(navigation, rng, learns_N=learns_N, explores_N=explores_N, design=design)
    best = float(navigation.mdp.start_S @ optimal_action_values(navigation.mdp, navigation.reward_SA).max(1))
    curves = dict(zip(PARTS, curves_NE.reshape(len(PARTS), runs, -1) / best, strict=True))
    figures = gain_figures(curves, "explors")
    for name, curve_NE in curves.items():
        first_N = np.where((curve_NE >= LEVEL).any(1), (curve_NE >= LEVEL).argmax(1) + 1, curve_NE.shape[1])
        figures[f"{name}/episodes"] = float(first_N.mean() * design.evaluate_every)
    return dict(sorted(figures.items()))
