"""Advantage transform with turn-level returns of tool calls, standardised over the batch."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup, Trajectory
from handaxe.ops.ragged import gather, scatter, token_turn_indices, turn_channel
from handaxe.ops.returns import Std, discounted_returns, standardise

__all__ = ["turn_bonus"]


def turn_bonus(
    *,
    channel: str | None = None,
    weight: float = 0.2,
    gamma: float = 0.2,
    std: Std = "population",
    eps: float = 1e-8,
) -> AdvantageTransform:
    """Add the standardised discounted return of each calling turn to the advantages of its tokens.

        g_k    = r_k + gamma g_{k+1}                                   over the calling turns of a rollout, in order
        b_k    = (g_k - mean(g)) / (std(g) + eps)                      over all calling turns of the batch
        A_i,t  = A_i,t + weight b_k      for tokens t of a calling turn k; unchanged in other turns

    r_k is a per-turn value of the scores. A calling turn has a call, malformed ones included. Other turns, such as the
    answer, enter neither returns nor statistics.

    Args:
        channel: of `scores.turn_channels`, such as that of `rewards.reply_status`; None for the reward of each turn.
        weight: 0.2 in the released code.
        gamma: discount between calling turns, in [0, 1]; 0.2 in the released code.
        std: "population" divides squares by n, as in the released code, "sample" by n - 1.
        eps: added to the std.

    Returns:
        An advantage transform: rated groups -> rated groups. Statistics are over every scored rollout of the groups,
        untrained ones included. Equal returns (such as those of a batch without a failed call), a lone calling turn,
        and unscored rollouts (outcome NaN) get exactly 0 added.

    Raises:
        InputError: gamma out of range, or the scores lack the channel.

    Example:
        values (-0.5, 0, answer) and (0, -0.5, answer)  ->  g (-0.5, 0) and (-0.1, -0.5), mean -0.275, std 0.2278
        ->  b (-0.988, 1.207, 0) and (0.768, -0.988, 0), times 0.2 added

    Paper: arXiv:2512.17312 (CodeDance), the turn-level advantage of its released code.
    Differs: nothing.
    """
    if not 0 <= gamma <= 1:
        raise InputError(f"gamma is {gamma}; give 0 to 1")

    def shape(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        returns = [
            _returns(trajectory, own, gamma)
            for one in rated
            for trajectory, own in zip(one.group, turn_channel(one.group, one.scores, channel), strict=True)
        ]
        scored = np.concatenate([np.zeros(0, bool), *[~np.isnan(one.scores.outcome) for one in rated]])
        every = np.concatenate([np.zeros(0), *[own for own, counts in zip(returns, scored, strict=True) if counts]])
        # Sorted, so that rounding of the mean does not depend on the order of groups.
        judged = dict(zip(np.sort(every).tolist(), standardise(np.sort(every), std=std, eps=eps).tolist(), strict=True))
        own_and_counts = zip(returns, scored, strict=True)
        added = (
            np.array([judged[value] if counts else 0.0 for value in own.tolist()]) for own, counts in own_and_counts
        )
        return [_raised(one, [weight * next(added) for _ in one.group]) for one in rated]

    return shape


def _calls(trajectory: Trajectory) -> np.ndarray:
    """[N] bool: True for calling turns."""
    return np.array([bool(turn.parsed.calls or turn.parsed.errors) for turn in trajectory.turns], bool)


def _returns(trajectory: Trajectory, values: np.ndarray, gamma: float) -> np.ndarray:
    """[calling turns]."""
    return discounted_returns(values[_calls(trajectory)], gamma)


def _raised(one: RatedGroup, added: Sequence[np.ndarray]) -> RatedGroup:
    tokens = []
    for trajectory, own, more in zip(one.group, one.advantages.tokens, added, strict=True):
        of_turn = np.zeros(len(trajectory.turns))
        of_turn[_calls(trajectory)] = more
        tokens.append(scatter(trajectory, gather(trajectory, own) + of_turn[token_turn_indices(trajectory)]))
    return replace(one, advantages=replace(one.advantages, tokens=tuple(tokens)))
