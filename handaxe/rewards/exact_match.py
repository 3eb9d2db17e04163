"""Rewards an answer equal to a reference answer."""

from collections.abc import Callable

from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.reference import gold_answers, normalise

__all__ = ["exact_match"]


def exact_match(
    *, extract: Callable[[Trajectory], str] = final_text, normalise: Callable[[str], str] = normalise
) -> Reward:
    """Give 1 for an answer equal to a reference answer of the task, else 0.

        R_i = 1 if normalise(extract(trajectory_i)) is in {normalise(g) : g in task.answer} and is not empty, else 0

    Args:
        extract: the answer text of a trajectory; see rewards/parts/extract.py.
        normalise: applied to both sides before the comparison. Default: SQuAD's (case, punctuation, articles, spaces).
            It drops points and minus signs, so use numeric_match for numbers; `str.strip` compares letter for letter.

    Returns:
        A reward with outcome [G] of 0 and 1. No turn: 0.

    Raises:
        TaskError: the task has no answer.

    Example:
        answer "Eiffel Tower"; final texts "the  Eiffel tower!", "Eiffel", ""  ->  1, 0, 0

    Paper: arXiv:1606.05250 (SQuAD), its exact-match metric.
    Differs: an answer that is empty after normalisation never matches.
    """

    def score(trajectory: Trajectory) -> float:
        golds = {normalise(gold) for gold in gold_answers(trajectory.task)}
        answer = normalise(extract(trajectory))
        return float(bool(answer) and answer in golds)

    return outcome(score)
