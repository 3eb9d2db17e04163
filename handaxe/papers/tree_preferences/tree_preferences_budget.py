"""Study: reward models from comparisons within trees and of independent rollouts, at equal numbers of comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.records import Pair
from handaxe.evaluation.policy_rollouts import HELD_OUT, policy_rollouts
from handaxe.evaluation.preference_model import preference_model
from handaxe.evaluation.rank_figures import judge_figures
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import column_figures
from handaxe.papers.tree_preferences.response_trees import drawn_pairs, leaf_count, response_tree
from handaxe.papers.tree_preferences.segment_forks import shared_tokens
from handaxe.worlds.arithmetic import arithmetic

__all__ = ["tree_preferences_budget"]

TOPOLOGIES = ("tree", "chain")


def tree_preferences_budget(
    *,
    seeds: int = 5,
    budgets: tuple[int, ...] = (16, 48),
    tasks: int = 40,
    depth: int = 2,
    branches: int = 2,
    held_out: int = 32,
    samples: int = 6,
    presented: int = 240,
    learning_rate: float = 1e-3,
) -> StudyFunction:
    """Fit reward models on comparisons of responses of the packaged policy in `arithmetic`, and rank held-out rollouts.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        pair/TOPOLOGY/N     share of held-out pairs of a correct and a wrong answer in the order of the scores, after N
                            comparisons; held-out rollouts are independent
        best/TOPOLOGY/N     share of tasks with a correct answer of the greatest score;  best/random of a random one
        gain/N              pair of tree less that of chain
        shared/TOPOLOGY     mean number of tokens that the sides of a comparison share, less the prompt's
        distinct/TOPOLOGY   mean number of tokens of a comparison that an annotator reads, the shared part once
        comparisons/TOPOLOGY    comparisons of unequal responses among all tasks

    Args:
        seeds: draws of training and held-out tasks, from the study's seed on.
        budgets: N, numbers of comparisons.
        tasks: training tasks of a seed; responses of a task are as many in both topologies.
        depth, branches: of a tree, see `segment_forks`.
        held_out: tasks of a seed that measure.
        samples: rollouts of a held-out task.
        presented: comparisons that a fit presents, in whole passes, at least one.
        learning_rate: of a fit.

    Example:
        pair 0.9 of tree and 0.85 of chain after 16 comparisons  ->  gain/16 0.05

    Paper: arXiv:2402.10184, tree-based against chain-based reward models.
    Differs: pair accuracy and best of n in place of win rates of trained policies.
    """

    def measure(seed: int) -> dict[str, float]:
        play = policy_rollouts(arithmetic())
        tree, leaves = response_tree(depth=depth, branches=branches), leaf_count(depth=depth, branches=branches)
        columns: dict[str, list[float]] = {}
        for number in range(seed, seed + seeds):
            tested = play("test", tasks=held_out, samples=samples, seed=HELD_OUT + number)
            for name in TOPOLOGIES:
                size, rollout = (1, tree) if name == "tree" else (leaves, None)
                given = play("train", tasks=tasks, samples=size, seed=number, rollout=rollout)
                pairs = drawn_pairs(given, seed=number)
                for key, value in _pair_figures(pairs).items():
                    columns.setdefault(f"{key}/{name}", []).append(value)
                for budget in budgets:
                    own = pairs[:budget]
                    model = preference_model(play.engine, own, presented=presented, learning_rate=learning_rate)
                    ranked = judge_figures(model, tested)
                    columns.setdefault(f"pair/{name}/{budget}", []).append(ranked.pair)
                    columns.setdefault(f"best/{name}/{budget}", []).append(ranked.best)
            columns.setdefault("best/random", []).append(ranked.random)
        return column_figures(columns, {f"gain/{n}": (f"pair/tree/{n}", f"pair/chain/{n}") for n in budgets})

    return measure


def _pair_figures(pairs: Sequence[Pair]) -> dict[str, float]:
    shared, distinct = list[float](), list[float]()
    for pair in pairs:
        prompt = pair.chosen.turns[0].start
        both = shared_tokens(pair.chosen, pair.rejected)
        shared.append(max(both - prompt, 0))
        distinct.append(sum(len(one.sequences[0]) for one in (pair.chosen, pair.rejected)) - both)
    return {
        "shared": float(np.mean(shared)),
        "distinct": float(np.mean(distinct)),
        "comparisons": float(len(pairs)),
    }
