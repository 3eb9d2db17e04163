"""Source of self-taught rounds: plays at the temperature, and selects by the threshold, with the best balance score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Source, StageContext
from handaxe.core.records import RatedGroup
from handaxe.curricula.in_order import in_order
from handaxe.ops.ragged import group_rewards
from handaxe.ops.seeds import derive_seed
from handaxe.papers.b_star.balance_monitor import BalanceMonitor
from handaxe.selection.keep_successes import keep_successes
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.sources import leave_step, play_at

__all__ = ["balance_score", "balanced_sampling"]

NOTHING: Mapping[str, Any] = {}
TEMPERATURES = tuple(round(0.5 + 0.05 * k, 2) for k in range(15))
RIGHT = 0.5


def balanced_sampling(
    *,
    temperatures: Sequence[float] = TEMPERATURES,
    thresholds: Sequence[float] = (0.5,),
    target: int = 8,
    most: int | None = None,
    correct: str | None = None,
    probes: int = 8,
    steps: int = 1,
    groups: int = 16,
    group_size: int = 16,
    monitor: BalanceMonitor | None = None,
    arguments: Mapping[str, Any] = NOTHING,
) -> Source:
    """Make a source that probes temperatures and thresholds on a few tasks, then plays with the best pair.

        b(q) = min(n' / n*, 1) * n' / n         n distinct rollouts of task q with R_i > threshold, n' of them correct
        (temperature, threshold) = argmax over the grid of the mean of b over the probed tasks; 0 if n is 0

    n' / n* measures exploration: enough correct rollouts to learn from. n' / n measures exploitation: how well the
    threshold separates correct from incorrect. A self-taught iteration is `teach(source=balanced_sampling())`, several
    are that in `repeat`; each probes other tasks. The probed tasks are the next ones of the context; they are played at
    every temperature with the same seeds, recorded in the folders probe-TEMPERATURE of the stage, and not trained on:
    the played tasks are those after them.

    Args:
        temperatures: of the grid, > 0; 0.5 to 1.2 by 0.05 in the released script. The first of equal scores wins.
        thresholds: of the grid, in units of reward; -1 to 1 by 0.01 in the paper. The paper's reward is 1 for a correct
            answer plus a fifth of the lowest step score of a process reward model (`rewards.weighted`).
        target: n*, number of correct rollouts that is enough, >= 1; 8 in the paper.
        most: selected rollouts of a task, the best first; None for all.
        correct: channel of correctness, above 0.5; None: the outcome.
        probes: probed tasks, >= 1.
        steps, groups, group_size: of the played groups; 64 rollouts a task in the paper.
        monitor: receives the chosen pair of each round.
        arguments: further arguments of `train`, replacing the context's roles.

    Returns:
        A source: the played groups, in which the selected rollouts train; tasks without one are left out.

    Raises:
        InputError: an empty grid, a number out of range, an unknown argument of `train`, or one that the grid sets.

    Example:
        n' = 4 of n = 8, n* = 8  ->  0.25;   8 of 10  ->  0.8;   16 of 16  ->  1;   0 of any  ->  0

    Paper: arXiv:2412.17256 (B-STaR).
    Differs: `most` is given, where released code takes the smallest number that fills a set of a given size; a task
        without a selected rollout scores 0, where released code leaves it out of the mean; reference answers are not
        trained on.
    """
    check_train_arguments(arguments)
    if not temperatures or not thresholds or min(temperatures) <= 0 or min(target, probes) < 1:
        raise InputError(
            f"the grid is temperatures {list(temperatures)} by thresholds {list(thresholds)}, target {target} and "
            f"probes {probes}; give one of each or more, temperatures above 0, and 1 or more"
        )
    if reserved := {"sampling", "tasks"} & set(arguments):
        raise InputError(f"balanced_sampling sets {' and '.join(sorted(reserved))} itself; leave it out")

    def source(site: StageContext) -> list[RatedGroup]:
        tasks, trying = site.tasks.next(0, probes), site._replace(seed=derive_seed(site.seed, "probe"))
        leave_step(site.tasks)
        once = {**arguments, "steps": 1, "groups": len(tasks), "group_size": group_size}
        scores = dict[tuple[float, float], float]()
        for heat in temperatures:
            given = {"tasks": in_order(tasks, shuffle=False), "sampling": replace(site.sampling, temperature=heat)}
            found = play_at(trying, {**once, **given}, folder=f"probe-{heat:g}")
            for threshold in thresholds:
                own = [balance_score(_selected(one, threshold), target=target, correct=correct) for one in found]
                scores[heat, threshold] = sum(own) / len(tasks)
        heat, threshold = max(scores, key=lambda pair: scores[pair])
        if monitor is not None:
            monitor.note(heat, threshold, scores[heat, threshold])
        chosen = {"steps": steps, "groups": groups, "group_size": group_size, **arguments}
        chosen["sampling"] = replace(site.sampling, temperature=heat)
        every = [_selected(one, threshold) for one in play_at(site, chosen, folder="played")]
        return [one for one in every if one is not None]

    def _selected(one: RatedGroup, threshold: float) -> RatedGroup | None:
        (selected,) = keep_successes(above=threshold, most=most, best=True)([one])
        return selected if selected.live else None

    return source


def balance_score(one: RatedGroup | None, *, target: int = 8, correct: str | None = None) -> float:
    """Compute b of the trained rollouts of a group; 0 for none.

    Args:
        one: the group, or None if nothing of it was selected.
        target: n*, number of correct rollouts that is enough.
        correct: channel of correctness, above 0.5; None: the outcome.
    """
    if one is None or not one.trained.any():
        return 0.0
    value_G = one.scores.outcome if correct is None else group_rewards(one.group, one.scores, channel=correct)
    right = int(np.sum(value_G[one.trained] > RIGHT))
    return min(right / target, 1.0) * right / int(one.trained.sum())
