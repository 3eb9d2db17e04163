"""Groups that are played at the temperature, and chosen by the threshold, which a few tasks said are the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Source, StageContext
from handaxe.core.records import Rated
from handaxe.curricula.in_order import in_order
from handaxe.ops.ragged import rewards_of
from handaxe.ops.seeds import derive_seed
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
    arguments: Mapping[str, Any] = NOTHING,
) -> Source:
    """Make a source that first tries temperatures and thresholds on a few tasks, and then plays with the best pair.

        b(q) = min(n' / n*, 1) * n' / n         n unlike attempts at task q with R_i > threshold, n' of them right
        (temperature, threshold) = argmax over the grid of the mean of b over the probed tasks; 0 where n is 0

    n' / n* says whether there is enough to learn from (exploration), n' / n whether the threshold tells right from
    wrong (exploitation). A self-taught iteration is `teach(source=balanced_sampling())`, several are that in `repeat`;
    each probes anew, other tasks than the round before. The probed tasks are the next ones of the site's; they are
    played at every temperature with the same seeds, recorded in the folders probe-TEMPERATURE of the stage, and are not
    learned from: what is played then are the tasks after them.

    Args:
        temperatures: of the grid, > 0; 0.5 to 1.2 by 0.05 in the released script. Of equal scores the first wins.
        thresholds: of the grid, in units of reward; -1 to 1 by 0.01 in the paper, whose reward is 1 for a right answer
            plus a fifth of the least score that a process reward model gives a step (`rewards.weighted`).
        target: n*, right attempts that are enough, >= 1; 8 in the paper.
        most: attempts of a task that are selected, the best first; None for all.
        correct: the channel that says which attempts are right, those above 0.5; None: the outcome.
        probes: tasks that are probed, >= 1.
        steps, groups, group_size: of what is played to learn from; 64 attempts a task in the paper.
        arguments: further ones of `train`, also in place of the site's roles.

    Returns:
        A source: the groups played, in which the selected attempts train; tasks of which none is selected are left out.

    Raises:
        InputError: an empty grid, a number out of range, an argument that `train` has not, or that is the grid's.

    Example:
        n' = 4 of n = 8, n* = 8  ->  0.25;   8 of 10  ->  0.8;   16 of 16  ->  1;   0 of any  ->  0

    Paper: arXiv:2412.17256 (B-STaR).
    Differs: `most` is given, where released code takes the least that fills a set of a given size; a task of which
        nothing is selected scores 0, and released code leaves it out of the mean; reference answers are not learned
        from besides.
    """
    check_train_arguments(arguments)
    if not temperatures or not thresholds or min(temperatures) <= 0 or min(target, probes) < 1:
        raise InputError(
            f"the grid is temperatures {list(temperatures)} by thresholds {list(thresholds)}, target {target} and "
            f"probes {probes}; give one of each or more, temperatures above 0, and 1 or more"
        )
    if taken := {"sampling", "tasks"} & set(arguments):
        raise InputError(f"balanced_sampling chooses {' and '.join(sorted(taken))} itself; leave it out")

    def source(site: StageContext) -> list[Rated]:
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
        chosen = {"steps": steps, "groups": groups, "group_size": group_size, **arguments}
        chosen["sampling"] = replace(site.sampling, temperature=heat)
        every = [_selected(one, threshold) for one in play_at(site, chosen, folder="played")]
        return [one for one in every if one is not None]

    def _selected(one: Rated, threshold: float) -> Rated | None:
        kept = keep_successes(above=threshold, most=most, best=True)([one])
        return kept[0] if kept else None

    return source


def balance_score(one: Rated | None, *, target: int = 8, correct: str | None = None) -> float:
    """b of the attempts of a group that train; 0 for none.

    Args:
        one: the group, or None where nothing of it was selected.
        target: n*, right attempts that are enough.
        correct: the channel that says which attempts are right, those above 0.5; None: the outcome.
    """
    if one is None or not one.trained.any():
        return 0.0
    value_G = one.scores.outcome if correct is None else rewards_of(one.group, one.scores, channel=correct)
    right = int(np.sum(value_G[one.trained] > RIGHT))
    return min(right / target, 1.0) * right / int(one.trained.sum())
