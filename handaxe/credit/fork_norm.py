"""Fork-relative credit: a turn is judged against the other turns that were tried at the same place."""

import numpy as np

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.forks import steps_of
from handaxe.ops.ragged import scatter, turn_channel, turn_of_token
from handaxe.ops.returns import Std, standardise

__all__ = ["fork_norm"]


def fork_norm(*, channel: str | None = None, std: Std | None = "sample", eps: float = 1e-6) -> Credit:
    """Give every token of a turn the turn's reward, centred and scaled among its siblings in the tree of turns.

        A_i,t = (R(s) - mean(R)) / (std(R) + eps)      for sampled tokens t of turn s of trajectory i
                                                       mean and std over the turns with the same turn before them
        A_i,t = 0                                      where s has no sibling, and for all other tokens

    First turns are siblings of each other. A turn that several trajectories share is one turn: it counts once, with the
    mean of what its trajectories say of it, and gets the same number in all of them.

    Args:
        channel: one of `Scores.turn_channels` to read R from; None: the rewards of turns, without the outcome.
        std: "sample" divides squares by n - 1, "population" by n, None does not scale.
        eps: added to the std, in units of reward.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. Rewards equal up to rounding give exactly 0; an
        unscored sibling (outcome NaN) gets 0 and counts nowhere.

    Raises:
        InputError: an unknown channel, and scores that do not fit the group.

    Example:
        first turns a, shared by two trajectories, and b with R 0.45 and 0  ->  0.7071, -0.7071

    Paper: PORTool, arXiv:2510.26020, fork-relative advantage.
    Unconfirmed: the formula: standard deviation, eps, and 0 without a sibling.
    Differs: nothing that is known.
    """

    def credit(group: Group, scores: Scores) -> Advantages:
        rewards, tree = turn_channel(group, scores, channel), steps_of(group)
        said: list[list[float]] = [[] for _ in tree.through]
        for own, reward_N, outcome in zip(tree.of, rewards, scores.outcome):
            for step, value in zip(own, reward_N):
                said[step] += [] if np.isnan(outcome) else [float(value)]
        value_S = np.array([np.mean(values) if values else np.nan for values in said])
        adv_S = np.zeros(len(value_S))
        for parent in np.unique(tree.parents):
            tried = [step for step in tree.children(parent) if said[step]]
            adv_S[tried] = standardise(value_S[tried], std=std, eps=eps)
        return Advantages(
            tuple(
                scatter(trajectory, 0.0 if np.isnan(outcome) else adv_S[own][turn_of_token(trajectory)])
                for trajectory, own, outcome in zip(group, tree.of, scores.outcome)
            )
        )

    return credit
