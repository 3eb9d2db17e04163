"""F1 of a judge's verdicts on the turn that reached a criterion; see `papers.calm.goal_transitions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from handaxe.asking.ask import Ask
from handaxe.core.records import Criterion, Trajectory
from handaxe.papers.calm.goal_transitions import GoalTransition, f1_figures

__all__ = ["Question", "transition_f1"]

Question = Callable[[Trajectory, int, Criterion], Ask]
"""(trajectory, turn, criterion) -> question whether the turn has reached the criterion, such as `reached_question`."""
Chances = Callable[[Sequence[Ask]], np.ndarray]
"""Questions -> [Q] probability of yes, such as `reached_chances` of a desk."""


def transition_f1(
    pairs: Sequence[GoalTransition], *, asks: Mapping[str, Question], chances: Chances, threshold: float = 0.5
) -> dict[str, float]:
    """Ask a judge about every pair of turn and criterion, with one or more question formats.

    Args:
        pairs: of `goal_transitions`.
        asks: name of a format -> question, such as {"": reached_question}. At least one.
        chances: answers the questions.
        threshold: p above this is a yes.

    Returns:
        As `f1_figures`, with the name of the format after each figure; and gain, the first format's f1 minus the last
        one's.

    Raises:
        InputError: no pair.

    Example:
        four pairs, reached 1, 0, 0, 1, answered with p 0.9, 0.8, 0.1, 0.4 in the only format  ->  f1 0.5, gain 0

    Paper: arXiv:2409.12798 (CALM), the evaluation of transitions by language models.
    Differs: pairs come from a world's expert instead of human demonstrations.
    Unconfirmed: the wording of the question; the abstract alone was read.
    """
    true_K = np.array([one.reached for one in pairs], bool)
    found = dict[str, float]()
    for way, question in asks.items():
        p_K = chances([question(one.attempt, one.turn, one.criterion) for one in pairs])
        found |= {f"{name}{way}": value for name, value in f1_figures(true_K, p_K, threshold).items()}
    ways = list(asks)
    return found | {"gain": found[f"f1{ways[0]}"] - found[f"f1{ways[-1]}"]}
