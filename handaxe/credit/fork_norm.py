"""Fork-relative credit: compares a turn with the sibling turns of the same fork."""

import numpy as np

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.ragged import scatter, token_turn_indices, turn_channel
from handaxe.ops.returns import Std, standardise
from handaxe.ops.turn_tree import turn_tree

__all__ = ["fork_norm"]


def fork_norm(*, channel: str | None = None, std: Std | None = "sample", eps: float = 1e-6) -> Credit:
    """Give every token of a turn the turn's reward, centred and scaled among sibling turns in the tree of turns.

        A_i,t = (R(s) - mean(R)) / (std(R) + eps)      for sampled tokens t of turn s of trajectory i
                                                       mean and std over the turns with the same turn before them
        A_i,t = 0                                      if s has no sibling, and for all other tokens

    First turns are siblings of each other. A turn shared by several trajectories is one turn: it counts once, with the
    mean of its values over these trajectories, and has the same advantage in all of them.

    Args:
        channel: the entry of `Scores.turn_channels` with R; None: the rewards of turns, without the outcome.
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
    Differs: nothing known.
    """

    def credit(group: Group, scores: Scores) -> Advantages:
        rewards, tree = turn_channel(group, scores, channel), turn_tree(group)
        values_S: list[list[float]] = [[] for _ in tree.members]
        for own, reward_N, outcome in zip(tree.nodes, rewards, scores.outcome):
            for step, value in zip(own, reward_N):
                values_S[step] += [] if np.isnan(outcome) else [float(value)]
        value_S = np.array([np.mean(values) if values else np.nan for values in values_S])
        adv_S = np.zeros(len(value_S))
        for parent in np.unique(tree.parents):
            scored = [step for step in tree.children(parent) if values_S[step]]
            adv_S[scored] = standardise(value_S[scored], std=std, eps=eps)
        return Advantages(
            tuple(
                scatter(trajectory, 0.0 if np.isnan(outcome) else adv_S[own][token_turn_indices(trajectory)])
                for trajectory, own, outcome in zip(group, tree.nodes, scores.outcome)
            )
        )

    return credit
