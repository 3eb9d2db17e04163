"""Judge that centres the scores of turns within the group."""

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import StepJudge
from handaxe.core.records import Group

__all__ = ["CentredSteps", "centred_steps"]


def centred_steps(*, judge: StepJudge) -> "CentredSteps":
    """Subtract from the score of each turn the mean of the other siblings at this turn.

        c'_ik = c_ik - mean of c_jk over siblings j != i with a turn k;  0 if there is no such sibling

    Contributions common to all siblings, such as a growth with the number of the turn, become 0. Unlike the scores of a
    judge, these depend on the siblings.

    Args:
        judge: scores turns.

    Returns:
        A step judge: [N_i] for each sibling.

    Raises:
        InputError: the judge does not score turns.

    Example:
        turns (0.1, 0.5, 0.4) and (0.3, 0.1)  ->  (-0.2, 0.4, 0) and (0.2, -0.4)

    Paper: arXiv:2505.20732 (SPA-RL), the leave-one-out centring per task of the released code.
    Differs: in the released code all turns of a rollout have one value, the predicted final reward, and a lone rollout
        keeps its value.
    """
    if not isinstance(judge, StepJudge):
        raise InputError(f"centred_steps asks a judge for score_steps(group), which {type(judge).__name__} lacks")
    return CentredSteps(judge)


class CentredSteps:
    """Judge of `centred_steps`."""

    def __init__(self, judge: StepJudge):
        self._judge = judge

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] for each sibling."""
        found = [np.asarray(own, np.float64) for own in self._judge.score_steps(group)]
        most = max((len(own) for own in found), default=0)
        present_GN = np.array([np.arange(most) < len(own) for own in found]).reshape(len(found), most)
        score_GN = np.zeros(present_GN.shape)
        score_GN[present_GN] = np.concatenate([np.zeros(0), *found])
        others_GN = present_GN.sum(0) - present_GN
        mean_GN = (score_GN.sum(0) - score_GN) / np.maximum(others_GN, 1)
        centred_GN = np.where(others_GN > 0, score_GN - mean_GN, 0.0)
        return tuple(row_N[: len(own)] for row_N, own in zip(centred_GN, found, strict=True))
