"""From a group's ragged token arrays to flat ones and back, and what a group's siblings earned.

The policy's tokens of a trajectory are read in the order they were written: turn after turn, through all its
sequences. The two-turn drawing of `handaxe.core.records`, whose policy tokens stand at 3, 4 and 8, gathers and
scatters so:

    [T = 9]  . . . a b . . . c    <->    [P = 3]  a b c         turn_of_token  0 0 1
                                         [N = 2]  x y    ->     broadcast      x x y

Everything is float64, and exactly 0 wherever the policy did not write.
"""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Scores, Trajectory

__all__ = [
    "channel_inside",
    "counted",
    "feature",
    "first_of_turn",
    "gather",
    "kl_penalty",
    "last_of_turn",
    "multiplied",
    "rewards_of",
    "scatter",
    "scatter_group",
    "token_rewards",
    "turn_channel",
    "turn_of_token",
    "turn_rewards",
]


def gather(trajectory: Trajectory, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The entries of one [T] array per sequence that stand at policy tokens, in the order they were written: [P]."""
    parts = [arrays[turn.sequence][turn.start : turn.stop] for turn in trajectory.turns]
    return np.concatenate([np.zeros(0), *parts]).astype(np.float64)


def scatter(trajectory: Trajectory, values: np.ndarray | float) -> tuple[np.ndarray, ...]:
    """The inverse of `gather`: one [T] array per sequence from [P] values (or one for all), 0 off the mask."""
    out = tuple(np.zeros(len(sequence)) for sequence in trajectory.sequences)
    values = np.broadcast_to(np.asarray(values, np.float64), trajectory.num_tokens)
    used = 0
    for turn in trajectory.turns:
        width = turn.stop - turn.start
        out[turn.sequence][turn.start : turn.stop] = values[used : used + width]
        used += width
    return out


def scatter_group(
    group: Group, values: Sequence[np.ndarray | float] | np.ndarray
) -> tuple[tuple[np.ndarray, ...], ...]:
    """`scatter` for each sibling: one number a sibling [G], or [P_i] a sibling, to the shape of `Advantages.tokens`."""
    return tuple(scatter(trajectory, own) for trajectory, own in zip(group, values, strict=True))


def multiplied(values: tuple[tuple[np.ndarray, ...], ...], factor: float) -> tuple[tuple[np.ndarray, ...], ...]:
    """Values of a group's tokens, such as `Advantages.tokens`, each times a number."""
    return tuple(tuple(factor * value_T for value_T in own) for own in values)


def turn_of_token(trajectory: Trajectory) -> np.ndarray:
    """[P] int: the turn each policy token belongs to. Values of turns [N] are broadcast by indexing with it."""
    return np.repeat(np.arange(len(trajectory.turns)), _widths(trajectory))


def first_of_turn(trajectory: Trajectory) -> np.ndarray:
    """[N] int: where, among the P policy tokens, each turn begins."""
    return last_of_turn(trajectory) + 1 - _widths(trajectory)


def last_of_turn(trajectory: Trajectory) -> np.ndarray:
    """[N] int: where, among the P policy tokens, each turn has its last token."""
    return np.cumsum(_widths(trajectory)) - 1


def feature(trajectory: Trajectory, name: str) -> np.ndarray:
    """[P]: the named feature at the policy's tokens, or "logp" itself; what stands at other tokens is not looked at.

    Raises:
        InputError: when a sequence that holds policy tokens lacks it, saying how to have it computed.
    """
    arrays = []
    for sequence in trajectory.sequences:
        if name != "logp" and name not in sequence.features and sequence.mask.any():
            raise InputError(
                f"trajectory {trajectory.id!r} has no feature {name!r}: pass annotate=({name!r},) to train, "
                f"or put it into TokenSequence.features (there: {', '.join(sorted(sequence.features)) or 'nothing'})"
            )
        arrays.append(sequence.logp if name == "logp" else sequence.features.get(name, sequence.logp))
    return gather(trajectory, arrays)


def kl_penalty(trajectory: Trajectory, coefficient: float) -> np.ndarray:
    """[P]: coefficient * (old_logp - ref_logp) at the policy's tokens, what a KL inside the reward takes from each."""
    return coefficient * (feature(trajectory, "old_logp") - feature(trajectory, "ref_logp"))


def channel_inside(scores: Scores, channel: str) -> str:
    """The name under which the scores have a channel, whatever rewards were wrapped around it.

    Its own name, or the only one that a reward around it calls ".../NAME"; its own where there is neither.

    Example:
        channels "a", "a/correct": "correct" -> "a/correct"
    """
    inside = [name for name in scores.channels if name.endswith(f"/{channel}")]
    return inside[0] if channel not in scores.channels and len(inside) == 1 else channel


def rewards_of(group: Group, scores: Scores, *, channel: str | None = None) -> np.ndarray:
    """What each sibling earned in all: [G] float64, its outcome plus its per-turn rewards; NaN where unscored.

    Args:
        channel: one of `scores.channels`, to be taken instead of the whole: of this name, or of the only one inside
            another (see `channel_inside`). NaN, too, where the outcome is.

    Raises:
        InputError: for a wrong shape, an infinity, a channel that does not exist, or a per-turn reward that is not
            finite in a trajectory that is scored.
    """
    channel = None if channel is None else channel_inside(scores, channel)
    if channel is not None and channel not in scores.channels:
        raise InputError(f"the scores have no channel {channel!r}; there are {', '.join(sorted(scores.channels))}")
    values = np.array(scores.outcome if channel is None else scores.channels[channel], np.float64)
    if values.shape != (len(group),) or np.shape(scores.outcome) != (len(group),):
        raise InputError(f"scores of shape {values.shape} for a group of {len(group)} siblings")
    if channel is None and scores.turns is not None:
        for i, own in enumerate(turn_rewards(group, scores)):
            values[i] += own.sum()
    for trajectory, value, outcome in zip(group, values, scores.outcome):
        if np.isinf(value) or (np.isnan(value) and not np.isnan(outcome)):
            raise InputError(f"trajectory {trajectory.id!r} was given a reward that is not finite")
    values[np.isnan(scores.outcome)] = np.nan  # a channel may hold a number for a sibling that was not scored
    return values


def counted(group: Group, scores: Scores, rewards: np.ndarray, stats_over: str = "all") -> np.ndarray:
    """Which siblings group statistics count: [G] bool.

    Args:
        rewards: [G]; NaN, never scored, never counts.
        stats_over: "all" that were scored, or those that are also "eligible" (`scores.eligible`; None is all of them).

    Raises:
        InputError: for any other `stats_over`.
    """
    if stats_over not in ("all", "eligible"):
        raise InputError(f"stats_over is {stats_over!r}; give 'all' or 'eligible'")
    scored = ~np.isnan(rewards)
    if stats_over == "all" or scores.eligible is None:
        return scored
    if np.shape(scores.eligible) != (len(group),):
        raise InputError(f"eligible has shape {np.shape(scores.eligible)} for a group of {len(group)} siblings")
    return scored & np.asarray(scores.eligible, bool)


def turn_rewards(group: Group, scores: Scores) -> list[np.ndarray]:
    """[N_i] a sibling: the reward attached to each turn, outcome not included; 0 where there is none."""
    if scores.turns is None:
        return [np.zeros(len(trajectory.turns)) for trajectory in group]
    made = [np.array(own, np.float64) for own in scores.turns]
    if [len(own) for own in made] != [len(trajectory.turns) for trajectory in group]:
        wanted = [len(trajectory.turns) for trajectory in group]
        raise InputError(f"scores.turns has {[len(own) for own in made]} entries a sibling; turns are {wanted}")
    return made


def turn_channel(group: Group, scores: Scores, name: str | None) -> list[np.ndarray]:
    """[N_i] a sibling: the named one of `scores.turn_channels`, or the reward attached to each turn where there is no
    name; 0 for a sibling that was never scored (outcome NaN).

    Raises:
        InputError: there is none of that name, or it is no finite number a turn of a sibling that was scored.
    """
    if name is not None and name not in scores.turn_channels:
        there = ", ".join(sorted(scores.turn_channels)) or "none"
        raise InputError(f"the scores have no per-turn channel {name!r}; there are {there}")
    values = turn_rewards(group, scores if name is None else Scores(scores.outcome, scores.turn_channels[name]))
    for one, own, outcome in zip(group, values, scores.outcome, strict=True):
        if np.isnan(outcome):
            own[:] = 0.0
        elif not np.isfinite(own).all():
            raise InputError(f"trajectory {one.id!r} was given turn rewards that are not finite: {own}")
    return values


def token_rewards(group: Group, scores: Scores, *, turns: bool = False) -> list[np.ndarray]:
    """Where each reward falls: that of a turn on its last token, the outcome on the very last token.

    Args:
        turns: one entry a turn [N_i] instead of one a policy token [P_i]; the outcome then falls on the last turn.

    Returns:
        Per sibling [P_i] or [N_i] float64; all 0 for a sibling that was never scored (outcome NaN).
    """
    values = rewards_of(group, scores)
    out = []
    for trajectory, own, value, outcome in zip(group, turn_rewards(group, scores), values, scores.outcome):
        if np.isnan(value):
            own = np.zeros(len(own))
        elif len(own):
            own[-1] += outcome
        if not turns:
            spread = np.zeros(trajectory.num_tokens)
            spread[last_of_turn(trajectory)] = own
            own = spread
        out.append(own)
    return out


def _widths(trajectory: Trajectory) -> np.ndarray:
    return np.array([turn.stop - turn.start for turn in trajectory.turns], int)
