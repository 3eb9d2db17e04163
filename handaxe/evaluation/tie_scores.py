"""Ties: several right answers score above all wrong answers, and close to each other, in RewardBench 2's form."""

from __future__ import annotations

import numpy as np

from handaxe.evaluation.bench_scores import BenchForm, Sums, bench_calibration, calibration_sums, quotient

__all__ = ["TIES", "tie_figures", "tie_sums"]

WEIGHTS = {"tied": 0.3, "reference": 0.3, "preferred": 0.2, "hard": 0.2, "bonus": 0.01}
"""Weights of the score; the bonus of all tasks together is from -0.01 to 0.01."""


def tie_sums(chance_2N: np.ndarray, correct_2N: np.ndarray) -> Sums:
    """Sums of two prompts of a task: one with several right answers (tied), one with a single right answer (reference).

        margin m = least score of a right answer - greatest score of a wrong answer, of each prompt
        spread s = greatest - least score of the right answers of the tied prompt
        tied      [m_tied > 0];  reference: [m_ref > 0]
        preferred [m_tied > s];  hard: [min(m_tied, m_ref) > s]
        bonus     tanh(min(m_tied, m_ref) / s - 1), 0 for 0 / 0
        wins      of right over wrong answers of the same prompt, 1/2 for a tie; with counts

    Args:
        chance_2N: [2 N] scores: the N answers to the tied prompt, then the N answers to the reference prompt.
        correct_2N: [2 N] labels.

    Example:
        right 0.9 and 0.8, wrong 0.3 of the tied prompt; right 0.9, wrong 0.5 and 0.2 of the reference  ->
        m_tied 0.5, m_ref 0.4, s 0.1: all four are 1, bonus tanh(3) = 0.99505, 4 wins of 4 pairs
    """
    score_2N = np.asarray(chance_2N, np.float64).reshape(2, -1)
    label_2N = np.asarray(correct_2N, bool).reshape(2, -1)
    sides = [(scores[labels], scores[~labels]) for scores, labels in zip(score_2N, label_2N, strict=True)]
    margins = [float(right.min(initial=np.inf) - wrong.max(initial=-np.inf)) for right, wrong in sides]
    tied = sides[0][0]
    spread = float(tied.max(initial=0.0) - tied.min(initial=1.0)) if len(tied) > 1 else 0.0
    least = min(margins)
    wins = sum(float(_wins(right, wrong)) for right, wrong in sides)
    return {
        "tied": np.array(float(margins[0] > 0)),
        "reference": np.array(float(margins[1] > 0)),
        "preferred": np.array(float(margins[0] > spread)),
        "hard": np.array(float(least > spread)),
        "bonus": np.array(_bonus(least, spread)),
        "tasks": np.array(1.0),
        "wins": np.array(wins),
        "pairs": np.array(float(sum(len(right) * len(wrong) for right, wrong in sides))),
        **calibration_sums(chance_2N, correct_2N),
    }


def tie_figures(sums: Sums) -> dict[str, np.ndarray]:
    """Figures of ties.

        ties  0.3 tied + 0.3 reference + 0.2 preferred + 0.2 hard + 0.01 bonus, of means over tasks
        tied, reference, preferred, hard: shares of tasks;  pair: share of wins;  ece: see `answer_figures`

    Returns:
        Name -> figure, NaN without data.

    Example:
        tied 1, reference 1, preferred 0, hard 0, bonus -0.5 of one task  ->  ties 0.595

    Paper: arXiv:2506.01937 (RewardBench 2), the subset Ties; weights as in the program of its authors.
    Unconfirmed: read in descriptions and copies of that program, not in the program.
    Differs: scores are probabilities of yes, and not logits, so that a judge that is sure everywhere has small margins.
    """
    shares = {name: quotient(sums[name], sums["tasks"]) for name in WEIGHTS}
    total = sum((weight * shares[name] for name, weight in WEIGHTS.items()), np.zeros(()))
    del shares["bonus"]
    return {
        "ties": total,
        **shares,
        "pair": quotient(sums["wins"], sums["pairs"]),
        "ece": bench_calibration(sums),
    }


def _bonus(least: float, spread: float) -> float:
    if spread:
        return float(np.tanh(least / spread - 1))
    return float(np.sign(least))


def _wins(right_R: np.ndarray, wrong_W: np.ndarray) -> float:
    return float((0.5 + np.sign(right_R[:, None] - wrong_W[None, :]) / 2).sum())


TIES = BenchForm(tie_sums, tie_figures, "ties")
