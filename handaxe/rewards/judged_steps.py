"""Rewards each turn by a step judge."""

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Reward, StepJudge
from handaxe.core.records import Group, Scores

__all__ = ["judged_steps"]


def judged_steps(*, judge: StepJudge) -> Reward:
    """Attach a step judge's scores to turns. The outcome is 0, so that process reward and correctness stay separate.

        turns_i[n] = judge.score_steps(group)_i[n]        outcome_i = 0

    All siblings are scored in one call. The reward has no state: weights of the judge are never part of it, so list a
    learning judge in `learners` of `train`. In a step it scores with the weights of the step before.

    Args:
        judge: scores turns; of the package judges or your own.

    Returns:
        A reward with outcome [G] of zeros and turns, per trajectory [N]. `weighted` adds it to an outcome and keeps its
        turns as a channel.

    Raises:
        VerifierError: the scores of a trajectory are not finite; it names the trajectory.
        InputError: the judge does not give one number a turn, or is no step judge.

    Example:
        a judge with steps 0.1, -0.05, 0.1 and 0.2  ->  turns (0.1, -0.05, 0.1), (0.2), outcome 0, 0

    Paper: arXiv:2509.19199 (iStar), step rewards; arXiv:2504.15275 (PURE), process rewards.
    Differs: nothing.
    """
    if not isinstance(judge, StepJudge):
        raise InputError(f"judged_steps asks a judge for score_steps(group), which {type(judge).__name__} lacks")

    def reward(group: Group) -> Scores:
        turns = tuple(np.array(own, np.float64) for own in judge.score_steps(group))
        if [own.shape for own in turns] != [(len(one.turns),) for one in group]:
            shapes, wanted = [own.shape for own in turns], [len(one.turns) for one in group]
            raise InputError(f"{type(judge).__name__} gives scores of shapes {shapes} for rollouts of {wanted} turns")
        for one, own in zip(group, turns, strict=True):
            if not np.isfinite(own).all():
                raise VerifierError(f"trajectory {one.id!r} was given the step scores {own}", trajectory=one.id)
        return Scores(np.zeros(len(group)), turns=turns)

    return reward
