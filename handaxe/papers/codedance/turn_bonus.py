"""Add to each turn's advantage what came of its call, judged against all calls of the batch."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Shape
from handaxe.core.records import Rated, Trajectory
from handaxe.ops.ragged import gather, scatter, turn_channel, turn_of_token
from handaxe.ops.returns import Std, discounted, standardise

__all__ = ["turn_bonus"]


def turn_bonus(
    *,
    channel: str | None = None,
    weight: float = 0.2,
    gamma: float = 0.2,
    std: Std = "population",
    eps: float = 1e-8,
) -> Shape:
    """Add the standardised discounted return of each calling turn to the advantages of its tokens.

        g_k    = r_k + gamma g_{k+1}                                   over the turns of an attempt that call, in order
        b_k    = (g_k - mean(g)) / (std(g) + eps)                      over all such turns of the batch
        A_i,t  = A_i,t + weight b_k      for tokens t of a turn k that calls; unchanged in turns that do not

    r_k is a per-turn value of the scores. A turn calls where it holds a call, also one that could not be read. Turns
    that do not, such as the answer, enter neither returns nor statistics.

    Args:
        channel: of `scores.turn_channels`, such as what `rewards.reply_status` says; the reward of each turn where
            None.
        weight: 0.2 in the released code.
        gamma: discount by calling turn, in [0, 1]; 0.2 in the released code.
        std: "population" divides squares by n, as the released code, "sample" by n - 1.
        eps: added to the std.

    Returns:
        A shape: [Rated] -> [Rated]. Statistics are over every scored attempt of the groups handed over, also over those
        that do not train. Equal returns (such as those of a batch in which no call fails), a lone calling turn, and
        unscored attempts (outcome NaN) get exactly 0 added.

    Raises:
        InputError: gamma out of range, or the scores have no such channel.

    Example:
        values (-0.5, 0, answer) and (0, -0.5, answer)  ->  g (-0.5, 0) and (-0.1, -0.5), mean -0.275, std 0.2278
        ->  b (-0.988, 1.207, 0) and (0.768, -0.988, 0), of which a fifth is added

    Paper: arXiv:2512.17312 (CodeDance), the advantage of each step, from its released code.
    Differs: nothing.
    """
    if not 0 <= gamma <= 1:
        raise InputError(f"gamma is {gamma}; give 0 to 1")

    def shape(rated: Sequence[Rated]) -> list[Rated]:
        returns = [
            _returns(trajectory, own, gamma)
            for one in rated
            for trajectory, own in zip(one.group, turn_channel(one.group, one.scores, channel), strict=True)
        ]
        scored = np.concatenate([np.zeros(0, bool), *[~np.isnan(one.scores.outcome) for one in rated]])
        every = np.concatenate([np.zeros(0), *[own for own, counts in zip(returns, scored, strict=True) if counts]])
        # The mean of equal numbers in another order is another number in its last digit: sort, and no order matters.
        judged = dict(zip(np.sort(every).tolist(), standardise(np.sort(every), std=std, eps=eps).tolist(), strict=True))
        own_and_counts = zip(returns, scored, strict=True)
        added = (
            np.array([judged[value] if counts else 0.0 for value in own.tolist()]) for own, counts in own_and_counts
        )
        return [_raised(one, [weight * next(added) for _ in one.group]) for one in rated]

    return shape


def _calls(trajectory: Trajectory) -> np.ndarray:
    """[N] bool: which turns call."""
    return np.array([bool(turn.parsed.calls or turn.parsed.errors) for turn in trajectory.turns], bool)


def _returns(trajectory: Trajectory, values: np.ndarray, gamma: float) -> np.ndarray:
    """[turns that call]."""
    return discounted(values[_calls(trajectory)], gamma)


def _raised(one: Rated, added: Sequence[np.ndarray]) -> Rated:
    tokens = []
    for trajectory, own, more in zip(one.group, one.advantages.tokens, added, strict=True):
        of_turn = np.zeros(len(trajectory.turns))
        of_turn[_calls(trajectory)] = more
        tokens.append(scatter(trajectory, gather(trajectory, own) + of_turn[turn_of_token(trajectory)]))
    return replace(one, advantages=replace(one.advantages, tokens=tuple(tokens)))
