"""Study: best of n by nominal, worst and mixed scores of an ensemble of reward heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from handaxe.core.records import Group
from handaxe.evaluation.best_of import best_of_curve
from handaxe.evaluation.policy_rollouts import HELD_OUT, policy_rollouts
from handaxe.evaluation.rank_figures import rank_figures
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import column_figures
from handaxe.papers.brme.gaussian_ensemble import GaussianEnsemble, gaussian_ensemble
from handaxe.worlds.arithmetic import arithmetic

__all__ = ["brme_best_of"]

GAINS = {f"gain/mixed/{name}": ("best/mixed", f"best/{name}") for name in ("first", "nominal", "worst")}


def brme_best_of(
    *, seeds: int = 6, tasks: int = 12, samples: int = 6, held_out: int = 24, most: int = 16, epochs: int = 3
) -> StudyFunction:
    """Fit ensembles on few rollouts of the packaged policy in `arithmetic`, and choose among held-out rollouts.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        best/SCORE         share of tasks with a correct rollout of the greatest score among `most`
        fall/SCORE         greatest value of its best-of-n curve, less the value at `most`: over-optimization
        pair/SCORE         share of held-out pairs in the order of the scores
        gain/mixed/SCORE   best of mixed less that of the score
        spread             rank correlation, over held-out rollouts, of the standard deviation of the nominal head and
                           its error to the first model's score
        random             share of correct rollouts

    Scores: first (the Bradley-Terry model), nominal, worst, mixed.

    Args:
        seeds: draws of training tasks, rollouts and heads, from the study's seed on.
        tasks: training tasks of a seed.
        samples: rollouts of a training task.
        held_out: tasks of a seed that measure.
        most: rollouts of a held-out task.
        epochs: passes of a fit.

    Example:
        best 0.75 of mixed and 0.5 of nominal  ->  gain/mixed/nominal 0.25

    Paper: arXiv:2409.15360 (BRME), nominal, worst and mixed reward.
    Differs: best of n in place of a trained policy.
    """

    def measure(seed: int) -> dict[str, float]:
        play = policy_rollouts(arithmetic())
        columns: dict[str, list[float]] = {}
        for number in range(seed, seed + seeds):
            model = gaussian_ensemble(epochs=epochs, seed=number)
            model.begin(play.engine)
            model.fit(play("train", tasks=tasks, samples=samples, seed=number))
            tested = play("test", tasks=held_out, samples=most, seed=HELD_OUT + number)
            truth = [scores.outcome for _, scores in tested]
            scores, spread = _scores(model, [group for group, _ in tested])
            for name, value in _figures_of(scores, truth).items():
                columns.setdefault(name, []).append(value)
            columns.setdefault("spread", []).append(spread)
        return column_figures(columns, GAINS)

    return measure


def _scores(model: GaussianEnsemble, groups: Sequence[Group]) -> tuple[dict[str, list[np.ndarray]], float]:
    """Scores by name, and the rank correlation of stated spread and error."""
    robust = [model.robust(group) for group in groups]
    first = [model.first.score(group) for group in groups]
    every = np.concatenate(first)
    target = (every - every.mean()) / max(float(every.std()), 1e-6)
    error = np.abs(np.concatenate([one.nominal_G for one in robust]) - target)
    spread = stats.spearmanr(np.concatenate([one.spread_G for one in robust]), error).statistic
    found = {
        "first": first,
        "nominal": [one.nominal_G for one in robust],
        "worst": [one.worst_G for one in robust],
        "mixed": [one.mixed_G for one in robust],
    }
    return found, float(spread)


def _figures_of(scores: Mapping[str, list[np.ndarray]], truth: list[np.ndarray]) -> dict[str, float]:
    found = dict[str, float]()
    for name, own in scores.items():
        ranked = rank_figures(own, truth)
        curve = np.mean([best_of_curve(score_G, truth_G) for score_G, truth_G in zip(own, truth, strict=True)], axis=0)
        found |= {f"pair/{name}": ranked.pair, f"best/{name}": ranked.best, f"fall/{name}": curve.max() - curve[-1]}
        found["random"] = ranked.random
    return found
