"""Outcome of a trajectory by the step scores of a judge."""

import numpy as np

from handaxe.core.protocols import Reward, StepJudge
from handaxe.core.records import Group, Scores
from handaxe.papers.ui_genie.judged_beam import KEPT

__all__ = ["judged_outcome"]


def judged_outcome(*, judge: StepJudge) -> Reward:
    """Score a trajectory by its lowest step score; 0 without a turn, and outside of the last beam.

        R_i = (1 + min_k judge.score_steps(i)_k) / 2        for scores in [-1, 1], as of `marked_screenshot`

    Returns:
        A reward with outcome [G] in [0, 1].

    Example:
        step scores 0.8, -0.2  ->  0.4

    Idea: one reward model judges steps and outcomes, as in arXiv:2505.21496 (UI-Genie); a chain of steps is correct if
        its weakest step is.
    Differs: the paper asks the model about completion as about a special action.
    """

    def reward(group: Group) -> Scores:
        lowest = [own.min() if len(own) else -1.0 for own in judge.score_steps(group)]
        kept = [float(one.notes.get(KEPT, True)) for one in group]
        return Scores(np.array(kept) * (1 + np.array(lowest)) / 2)

    return reward
