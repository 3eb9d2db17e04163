"""Figures of judges on benches with a known order: sums of a task, figures of sums, and intervals over tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.evaluation.agreement_stats import RESAMPLES, Figure, percentile_figure
from handaxe.judges.asked_pairs import mean_preference
from handaxe.ops.seeds import generator

__all__ = [
    "ANSWERS",
    "BenchForm",
    "PAIRS",
    "STEPS",
    "answer_figures",
    "answer_sums",
    "bench_calibration",
    "bench_figures",
    "calibration_sums",
    "comparison_figures",
    "comparison_sums",
    "first_error",
    "quotient",
    "step_figures",
    "step_sums",
]

BINS = 10
Sums = Mapping[str, np.ndarray]
"""Name -> sum over tasks, [] or [BINS]; figures of several resamples take [R] and [R, BINS]."""


class BenchForm(NamedTuple):
    """Form of a bench: (probabilities, labels) of a task -> sums, sums -> figures, and the figure of the interval."""

    sums: Callable[[np.ndarray, np.ndarray], Sums]
    figures: Callable[[Sums], dict[str, np.ndarray]]
    main: str


def first_error(chance_N: np.ndarray) -> int:
    """Index of the first step below one half, -1 for none.

    Example:
        0.9, 0.4, 0.2 -> 1;  0.5, 0.7 -> -1
    """
    below_N = np.flatnonzero(np.asarray(chance_N) < 0.5)
    return int(below_N[0]) if len(below_N) else -1


def step_sums(chance_2N: np.ndarray, correct_2N: np.ndarray) -> Sums:
    """Sums of two rollouts of a task: one without an error, one with a single wrong step.

    Args:
        chance_2N: [2 N] probabilities that a step is right: the rollout without an error, then the other.
        correct_2N: [2 N] labels.

    Returns:
        Hits of each rollout (1 if `first_error` is the first wrong step), agreeing steps, and wins of the right step
        over the wrong step in the same place, 0.5 for a tie; with counts.

    Example:
        0.9, 0.8 and 0.9, 0.3 with a wrong second step  ->  both rollouts hit, 4 of 4 steps, 1 win
    """
    clean_N, error_N = np.asarray(chance_2N, np.float64).reshape(2, -1)
    correct_2N = np.asarray(correct_2N, bool)
    wrong = int(np.flatnonzero(~correct_2N[len(clean_N) :])[0])
    return {
        "error_hits": np.array(float(first_error(error_N) == wrong)),
        "clean_hits": np.array(float(first_error(clean_N) == -1)),
        "tasks": np.array(1.0),
        "agreeing": np.array(float(((np.asarray(chance_2N) >= 0.5) == correct_2N).sum())),
        "steps": np.array(float(len(correct_2N))),
        "wins": np.array(_wins(float(clean_N[wrong]), error_N[wrong : wrong + 1])),
        "pairs": np.array(1.0),
        **calibration_sums(chance_2N, correct_2N),
    }


def step_figures(sums: Sums) -> dict[str, np.ndarray]:
    """Figures of steps, in ProcessBench's form.

        error   accuracy on rollouts with an error;  clean: on rollouts without
        f1      2 error clean / (error + clean)
        steps   share of steps with the label as verdict
        pair    share of wins of the right step in the same place;  ece: see `answer_figures`

    Returns:
        Name -> figure, NaN without data.

    Example:
        error hits 1 of 2, clean hits 2 of 2  ->  error 0.5, clean 1, f1 2/3

    Paper: arXiv:2412.06559 (ProcessBench), the F1 of two accuracies.
    Differs: the threshold is one half, and not chosen on a part of the bench.
    """
    error, clean = quotient(sums["error_hits"], sums["tasks"]), quotient(sums["clean_hits"], sums["tasks"])
    both = error + clean
    return {
        "f1": np.where(both == 0, 0.0, quotient(2 * error * clean, both)),
        "error": error,
        "clean": clean,
        "steps": quotient(sums["agreeing"], sums["steps"]),
        "pair": quotient(sums["wins"], sums["pairs"]),
        "ece": bench_calibration(sums),
    }


def answer_sums(chance_N: np.ndarray, correct_N: np.ndarray) -> Sums:
    """Sums of one correct and several wrong answers to a task.

    With h wrong answers above the correct answer and t wrong answers equal to it:

        wins = (N - 1 - h - t) + t / 2
        best = 1 / (t + 1) if h = 0, else 0
        mrr  = mean of 1 / (h + j) over j = 1, ..., t + 1      expected reciprocal rank, ties in random order

    Args:
        chance_N: [N] scores.
        correct_N: [N] labels, True once.

    Example:
        0.7 of the correct answer, 0.9, 0.7 and 0.1 of the others  ->  wins 1.5 of 3, best 0, mrr (1/2 + 1/3) / 2
    """
    return {**_rank_sums(chance_N, correct_N), **calibration_sums(chance_N, correct_N)}


def answer_figures(sums: Sums) -> dict[str, np.ndarray]:
    """Figures of answers.

        pair  share of wins of the correct answer over a wrong one, a tie is half a win
        best  share of tasks with the correct answer on top, a tie of k answers is 1 / k
        mrr   mean reciprocal rank of the correct answer
        ece   sum over bins b of n_b / n |mean p_b - share of labels in b|, 10 equal bins of p

    Returns:
        Name -> figure, NaN without data.

    Example:
        wins 1.5 of 3, best 0 and mrr 0.4167 of one task  ->  pair 0.5, best 0, mrr 0.4167

    Idea: the usual figures of reward models on lists of one correct answer and several wrong answers.
    """
    return {
        "pair": quotient(sums["wins"], sums["pairs"]),
        "best": quotient(sums["best"], sums["tasks"]),
        "mrr": quotient(sums["reciprocal"], sums["tasks"]),
        "ece": bench_calibration(sums),
    }


def comparison_sums(chance_2P: np.ndarray, correct_2P: np.ndarray) -> Sums:
    """Sums of comparisons of the correct answer with each wrong answer of a task, each pair in both orders.

        score of a wrong answer = 1 - (p_12 + 1 - p_21) / 2        the correct answer has 1/2
        consistent if sign(p_12 - 1/2) = -sign(p_21 - 1/2)       the same winner in both orders
        both if p_12 > 1/2 > p_21                                the correct answer wins in both orders
        first = [p > 1/2] + [p = 1/2] / 2                        answers for the first text, whichever stands there

    Args:
        chance_2P: [2 P] probabilities that the first text is right: p_12 with the correct answer first, then p_21.
        correct_2P: [2 P] labels: True, False, True, ...

    Example:
        0.9 and 0.6 of a pair  ->  the wrong answer has 0.35: a win; not consistent, and twice for the first text
    """
    chance_2P = np.asarray(chance_2P, np.float64)
    chance_P2 = chance_2P.reshape(-1, 2)
    score_N = np.concatenate([[0.5], 1 - mean_preference(chance_P2)])
    side_P2 = np.sign(chance_P2 - 0.5)
    return {
        **_rank_sums(score_N, np.arange(len(score_N)) == 0),
        "consistent": np.array(float((side_P2[:, 0] == -side_P2[:, 1]).sum())),
        "both": np.array(float(((side_P2[:, 0] > 0) & (side_P2[:, 1] < 0)).sum())),
        "first": np.array(float((0.5 + side_P2 / 2).sum())),
        **calibration_sums(chance_2P, correct_2P),
    }


def comparison_figures(sums: Sums) -> dict[str, np.ndarray]:
    """Figures of `answer_figures`, and of the two orders.

        same   share of pairs with the same winner in both orders (position consistency)
        both   share of pairs with the correct answer as winner in both orders
        first  share of answers for the first text; 1/2 without a preference for a position

    Example:
        2 of 3 pairs with the same winner, one of them wrong  ->  same 0.6667, both 0.3333

    Idea: position consistency of a judge of pairs.
    """
    return {
        **answer_figures(sums),
        "same": quotient(sums["consistent"], sums["pairs"]),
        "both": quotient(sums["both"], sums["pairs"]),
        "first": quotient(sums["first"], 2 * sums["pairs"]),
    }


def bench_figures(
    form: BenchForm,
    items: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    task: Sequence[str] = (),
    resamples: int = RESAMPLES,
) -> dict[str, Figure]:
    """Figures of all items with 95 % intervals.

    Args:
        form: of the bench.
        items: probabilities and labels of each item, without NaN.
        task: ids; a resample draws tasks with all their items. By default each item is a task.
        resamples: of tasks with replacement.

    Returns:
        Name -> figure; NaN without items.

    Example:
        bench_figures(ANSWERS, [(np.array([0.9, 0.1]), np.array([True, False]))])["pair"] -> (1, 1, 1)
    """
    if not items:
        blank = form.sums(np.full(2, 0.5), np.array([True, False]))
        undefined = form.figures({name: np.zeros_like(one) for name, one in blank.items()})
        return {name: Figure(*[float("nan")] * 3) for name in undefined}
    rows = [form.sums(chance, correct) for chance, correct in items]
    names, place_I = np.unique(np.asarray(task or range(len(items)), str), return_inverse=True)
    member_TI = (np.arange(len(names))[:, None] == place_I).astype(np.float64)
    table = {name: np.tensordot(member_TI, np.stack([row[name] for row in rows]), 1) for name in rows[0]}
    values = form.figures({name: one.sum(0) for name, one in table.items()})
    rng = generator("bench", len(names))
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
    spread = form.figures({name: np.tensordot(drawn, one, 1) for name, one in table.items()})
    return {name: percentile_figure(float(value), spread[name]) for name, value in values.items()}


def calibration_sums(chance_N: np.ndarray, correct_N: np.ndarray) -> dict[str, np.ndarray]:
    """Count, sum of p and sum of labels of each of 10 equal bins of p.

    Args:
        chance_N: [N] probabilities.
        correct_N: [N] labels.

    Example:
        0.92 and 0.98 with labels 1 and 0  ->  the last bin has count 2, sum of p 1.9, and 1 label
    """
    chance_N = np.asarray(chance_N, np.float64)
    place_N = np.clip((chance_N * BINS).astype(int), 0, BINS - 1)
    weights = {"bin_count": None, "bin_chance": chance_N, "bin_label": np.asarray(correct_N, np.float64)}
    return {name: np.bincount(place_N, one, BINS).astype(np.float64) for name, one in weights.items()}


def bench_calibration(sums: Sums) -> np.ndarray:
    """ECE of sums of `calibration_sums`: sum over bins of |sum of p - sum of labels| / count of all.

    Example:
        a bin with sum of p 1.9 and 1 label, of 2 answers in all  ->  0.45
    """
    gap = np.abs(sums["bin_chance"] - sums["bin_label"]).sum(-1)
    return quotient(gap, sums["bin_count"].sum(-1))


def quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, NaN where b is 0.

    Example:
        1 and 0 of 2 and 0  ->  0.5, NaN
    """
    return np.divide(a, b, out=np.full(np.shape(a), np.nan), where=np.asarray(b) > 0)


def _rank_sums(score_N: np.ndarray, correct_N: np.ndarray) -> dict[str, np.ndarray]:
    score_N, correct_N = np.asarray(score_N, np.float64), np.asarray(correct_N, bool)
    (own,) = score_N[correct_N]
    others = score_N[~correct_N]
    higher, tied = int((others > own).sum()), int((others == own).sum())
    return {
        "wins": np.array(_wins(float(own), others)),
        "pairs": np.array(float(len(others))),
        "best": np.array(1 / (tied + 1) if not higher else 0.0),
        "reciprocal": np.array(np.mean([1 / (higher + j) for j in range(1, tied + 2)])),
        "tasks": np.array(1.0),
    }


def _wins(own: float, others: np.ndarray) -> float:
    return float((others < own).sum() + (others == own).sum() / 2)


STEPS = BenchForm(step_sums, step_figures, "f1")
ANSWERS = BenchForm(answer_sums, answer_figures, "pair")
PAIRS = BenchForm(comparison_sums, comparison_figures, "pair")
