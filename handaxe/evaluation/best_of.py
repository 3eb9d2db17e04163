"""Expected truth of the best of n candidates by a judge's score, without resampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import numpy as np

from handaxe.core.errors import InputError
from handaxe.evaluation.agreement_stats import Figure
from handaxe.evaluation.bench_scores import BenchForm, Sums, bench_figures

__all__ = ["best_of_curve", "best_of_figures"]


def best_of_curve(score_N: np.ndarray, truth_N: np.ndarray) -> np.ndarray:
    """Estimate the expected truth of the candidate with the greatest score among n, for n = 1, ..., N.

        curve_n = sum_i C(i - 1, n - 1) / C(N, n) t_i        t_1, ..., t_N: truths by ascending score

    This is the mean over all subsets of n of the N candidates, so it is unbiased for n independent candidates, and has
    no error of resampling. Candidates of equal score are in random order: each of them has the mean truth of all.

    Args:
        score_N: [N] scores of the judge, N >= 1.
        truth_N: [N] truths, such as 1 for correct and 0 for wrong.

    Returns:
        [N]: the mean truth for n = 1, the truth of the best candidate for n = N.

    Raises:
        InputError: no candidate, other numbers of scores and truths, or NaN.

    Example:
        scores 0.2, 0.9, 0.5 and truths 0, 0, 1  ->  1/3, 1/3, 0: of the subsets of two, one has the correct on top

    Idea: the estimator of pass@k (arXiv:2107.03374, equation 1) for a judge's choice in the place of an oracle's.
    """
    score_N = np.asarray(score_N, np.float64)
    truth_N = np.asarray(truth_N, np.float64)
    if score_N.shape != truth_N.shape or score_N.ndim != 1 or not len(score_N):
        raise InputError(f"give as many truths as scores, one or more, not {truth_N.shape} and {score_N.shape}")
    if np.isnan(score_N).any() or np.isnan(truth_N).any():
        raise InputError("a score or a truth is NaN: leave out candidates without a score")
    count = len(score_N)
    value_V, place_N = np.unique(score_N, return_inverse=True)
    size_V = np.bincount(place_N, minlength=len(value_V))
    mean_N = (np.bincount(place_N, truth_N, len(value_V)) / size_V)[place_N]
    ordered_N = mean_N[np.argsort(score_N, kind="stable")]
    weight_NN = np.array(
        [[comb(i, n - 1) / comb(count, n) for i in range(count)] for n in range(1, count + 1)], np.float64
    )
    return np.asarray(weight_NN @ ordered_N)


def best_of_figures(
    items: Sequence[tuple[np.ndarray, np.ndarray]], *, most: int, task: Sequence[str] = ()
) -> dict[str, list[Figure]]:
    """Mean curves of tasks with 95 % intervals, by the judge and by an oracle.

        judge   `best_of_curve` of the scores;  oracle: of the truths in the place of scores
        mean    the truth of a random candidate, at every n

    Args:
        items: (scores, truths) of the candidates of each task, `most` or more.
        most: last n of the curves.
        task: ids; a resample draws tasks. By default each item is a task.

    Returns:
        judge, oracle and mean -> [most] figures.

    Raises:
        InputError: a task with fewer candidates than `most`.

    Example:
        one task with scores 0.2, 0.9, 0.5 and truths 0, 0, 1  ->  judge 1/3, 1/3, 0; oracle 1/3, 2/3, 1; mean 1/3
    """
    if few := [len(score) for score, _ in items if len(score) < most]:
        raise InputError(f"a task has {min(few)} candidates, fewer than {most}: ask for the best of {min(few)}")
    kinds: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
        "judge": best_of_curve,
        "oracle": lambda score, truth: best_of_curve(truth, truth),
        "mean": lambda score, truth: np.full(len(truth), np.mean(truth)),
    }
    return {name: _means(curve, items, most, task) for name, curve in kinds.items()}


def _means(
    curve: Callable[[np.ndarray, np.ndarray], np.ndarray],
    items: Sequence[tuple[np.ndarray, np.ndarray]],
    most: int,
    task: Sequence[str],
) -> list[Figure]:
    def sums(score: np.ndarray, truth: np.ndarray) -> Sums:
        own = np.zeros(most)
        found = curve(score, truth)[:most]
        own[: len(found)] = found
        return {"curve": own, "tasks": np.array(1.0)}

    def figures(total: Sums) -> dict[str, np.ndarray]:
        tasks = np.maximum(total["tasks"], 1)
        return {str(n): np.where(total["tasks"] > 0, total["curve"][..., n] / tasks, np.nan) for n in range(most)}

    found = bench_figures(BenchForm(sums, figures, "0"), items, task=task)
    return [found[str(n)] for n in range(most)]
