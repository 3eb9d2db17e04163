"""Rewards scores of several answers that order the answers as the reference scores do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.papers.urpo.referee_question import read_scores
from handaxe.rewards.outcome import outcome

__all__ = ["kendall_reward", "kendall_tau", "reply_tau"]

UNREADABLE = -1.0
"""Reward of a reply without scores: that of the reverse order."""


def kendall_reward() -> Reward:
    """Give Kendall's tau between the scores of a reply and the task's reference scores, `task.answer`.

        R_i = tau(scores of reply i, task.answer);  -1 for a reply without a score for each answer

    Returns:
        A reward with outcome [G], from -1 to 1.

    Example:
        reference 3, 2, 1: "a5 b5 c4"  ->  0.6667;  "a1 b2 c3" and "good"  ->  -1

    Paper: arXiv:2507.17515 (URPO), the reward of preference data.
    Unconfirmed: the variant of tau, and the reward of a reply without scores.
    Differs: nothing known.
    """
    return outcome(reply_tau)


def reply_tau(one: Trajectory) -> float:
    """Compute Kendall's tau of a ranking task's reply, see `kendall_reward`.

    Example:
        reference 3, 2, 1: "a3 b2 c1"  ->  1

    Idea: one measure for the reward, the gauge and the correctness of rankings.
    """
    scores = read_scores(one.final_text, len(one.task.answer))
    return UNREADABLE if scores is None else kendall_tau(scores, one.task.answer)


def kendall_tau(scores: Sequence[float], gold: Sequence[float]) -> float:
    """Compute Kendall's tau over the pairs with different reference scores.

        tau = sum_{i<j} sign(s_i - s_j) sign(g_i - g_j) / #{i<j : g_i != g_j}

    A pair with equal scores s counts 0. Without ties in g this is tau-a; with two answers it is 1, 0 or -1.

    Args:
        scores: s, of N answers.
        gold: g, reference scores of the same answers.

    Returns:
        From -1 to 1; 0 if all reference scores are equal.

    Example:
        g 3, 2, 1: s 9, 9, 4  ->  (0 + 1 + 1) / 3;  s 1, 2, 3  ->  -1

    Paper: arXiv:2507.17515 (URPO), N-way rankings.
    Unconfirmed: the variant of tau, from memory.
    Differs: pairs with equal reference scores do not count.
    """
    pairs = [(i, j) for i, j in combinations(range(len(gold)), 2) if gold[i] != gold[j]]
    agreed = sum(_sign(scores[i] - scores[j]) * _sign(gold[i] - gold[j]) for i, j in pairs)
    return agreed / len(pairs) if pairs else 0.0


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
