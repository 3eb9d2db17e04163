"""Rewards each turn by what a judge says of it."""

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Reward, StepJudge
from handaxe.core.records import Group, Scores

__all__ = ["judged_steps"]


def judged_steps(*, judge: StepJudge) -> Reward:
    """Attach a step judge's scores to turns; the outcome is 0, so that they stay apart from what is right.

        turns_i[n] = judge.score_steps(group)_i[n]        outcome_i = 0

    All siblings are read at once. The judge is asked and nothing else: the reward has no state, and the judge's weights
    are never a part of it, so list a judge that learns in `learners` of `train`. In a step it says what it has learned
    up to the step before; `papers.istar.credited_again` asks it once more after it has learned.

    Args:
        judge: scores turns; of room judges or your own.

    Returns:
        A reward with outcome [G] of zeros and turns, per trajectory [N]. `weighted` puts it beside an outcome and keeps
        its turns as a channel.

    Raises:
        VerifierError: naming the trajectory whose scores are not finite.
        InputError: the judge does not give one number a turn, or is no step judge.

    Example:
        a judge of steps 0.1, -0.05, 0.1 and 0.2  ->  turns (0.1, -0.05, 0.1), (0.2), outcome 0, 0

    Paper: arXiv:2509.19199 (iStar), step rewards; arXiv:2504.15275 (PURE), process rewards.
    Differs: nothing.
    """
    if not isinstance(judge, StepJudge):
        raise InputError(f"judged_steps asks a judge for score_steps(group), which {type(judge).__name__} lacks")

    def reward(group: Group) -> Scores:
        turns = tuple(np.array(own, np.float64) for own in judge.score_steps(group))
        if [own.shape for own in turns] != [(len(one.turns),) for one in group]:
            shapes, wanted = [own.shape for own in turns], [len(one.turns) for one in group]
            raise InputError(f"{type(judge).__name__} gives scores of shapes {shapes} for attempts of {wanted} turns")
        for one, own in zip(group, turns, strict=True):
            if not np.isfinite(own).all():
                raise VerifierError(f"trajectory {one.id!r} was given the step scores {own}", trajectory=one.id)
        return Scores(np.zeros(len(group)), turns=turns)

    return reward
