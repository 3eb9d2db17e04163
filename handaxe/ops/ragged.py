"""Conversion between a group's ragged token arrays and flat arrays, and the rewards of a group's siblings.

A trajectory's policy tokens are read in the order of sampling: turn by turn, through all sequences. The example of
`handaxe.core.records`, with policy tokens at 3, 4 and 8 and two turns, gathers and scatters so:

    [T = 9]  . . . a b . . . c    <->    [P = 3]  a b c         token_turn_indices  0 0 1
                                         [N = 2]  x y    ->     broadcast           x x y

All values are float64, and exactly 0 at tokens that the policy did not sample.
"""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Scores, Trajectory

__all__ = [
    "channel_values",
    "gather",
    "group_rewards",
    "kl_penalty",
    "resolve_channel",
    "scale_tokens",
    "scatter",
    "scatter_group",
    "statistics_mask",
    "token_feature",
    "token_rewards",
    "token_turn_indices",
    "turn_channel",
    "turn_end_indices",
    "turn_rewards",
    "turn_start_indices",
]


def gather(trajectory: Trajectory, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Gather the policy tokens' entries of one [T] array per sequence, in the order of sampling: [P]."""
    parts = [arrays[turn.sequence][turn.start : turn.stop] for turn in trajectory.turns]
    return np.concatenate([np.zeros(0), *parts]).astype(np.float64)


def scatter(trajectory: Trajectory, values: np.ndarray | float) -> tuple[np.ndarray, ...]:
    """Invert `gather`: [T] arrays for each sequence from [P] values or a single number; 0 at other tokens."""
    out = tuple(np.zeros(len(sequence)) for sequence in trajectory.sequences)
    values = np.broadcast_to(np.asarray(values, np.float64), trajectory.num_tokens)
    offset = 0
    for turn in trajectory.turns:
        width = turn.stop - turn.start
        out[turn.sequence][turn.start : turn.stop] = values[offset : offset + width]
        offset += width
    return out


def scatter_group(
    group: Group, values: Sequence[np.ndarray | float] | np.ndarray
) -> tuple[tuple[np.ndarray, ...], ...]:
    """Scatter a number or [P_i] values for each sibling; the result has the shape of `Advantages.tokens`."""
    return tuple(scatter(trajectory, own) for trajectory, own in zip(group, values, strict=True))


def scale_tokens(values: tuple[tuple[np.ndarray, ...], ...], factor: float) -> tuple[tuple[np.ndarray, ...], ...]:
    """Multiply the values of a group's tokens, such as `Advantages.tokens`, by a number."""
    return tuple(tuple(factor * value_T for value_T in own) for own in values)


def token_turn_indices(trajectory: Trajectory) -> np.ndarray:
    """Return the turn of each policy token: [P] int. Indexing [N] values of turns with the result broadcasts them."""
    return np.repeat(np.arange(len(trajectory.turns)), _widths(trajectory))


def turn_start_indices(trajectory: Trajectory) -> np.ndarray:
    """Return the index of each turn's first token among the P policy tokens: [N] int."""
    return turn_end_indices(trajectory) + 1 - _widths(trajectory)


def turn_end_indices(trajectory: Trajectory) -> np.ndarray:
    """Return the index of each turn's last token among the P policy tokens: [N] int."""
    return np.cumsum(_widths(trajectory)) - 1


def token_feature(trajectory: Trajectory, name: str) -> np.ndarray:
    """Read a named feature, or "logp", at the policy's tokens: [P]. Values at other tokens are ignored.

    Raises:
        InputError: a sequence with policy tokens lacks the feature; the message explains how to compute it.
    """
    arrays = []
    for sequence in trajectory.sequences:
        if name != "logp" and name not in sequence.features and sequence.mask.any():
            raise InputError(
                f"trajectory {trajectory.id!r} has no feature {name!r}: pass annotate=({name!r},) to train, or add it "
                f"to TokenSequence.features (available: {', '.join(sorted(sequence.features)) or 'none'})"
            )
        arrays.append(sequence.logp if name == "logp" else sequence.features.get(name, sequence.logp))
    return gather(trajectory, arrays)


def kl_penalty(trajectory: Trajectory, coefficient: float) -> np.ndarray:
    """Compute coefficient * (old_logp - ref_logp) at the policy's tokens: [P], the penalty of a KL inside the
    reward."""
    return coefficient * (token_feature(trajectory, "old_logp") - token_feature(trajectory, "ref_logp"))


def resolve_channel(scores: Scores, channel: str) -> str:
    """Resolve the name of a channel in scores of wrapped rewards.

    Returns the given name if the scores have it, else the only name of the form ".../NAME", else the given name.

    Example:
        channels "a", "a/correct": "correct" -> "a/correct"
    """
    wrapped = [name for name in scores.channels if name.endswith(f"/{channel}")]
    return wrapped[0] if channel not in scores.channels and len(wrapped) == 1 else channel


def channel_values(scores: Scores, channel: str | None) -> np.ndarray:
    """[G] float64: a channel of the scores by its name, see `resolve_channel`; None for their outcome.

    Raises:
        InputError: the scores have no such channel; the message lists the channels.
    """
    if channel is None:
        return np.array(scores.outcome, np.float64)
    name = resolve_channel(scores, channel)
    if name not in scores.channels:
        there = ", ".join(sorted(scores.channels)) or "none"
        raise InputError(f"the scores have no channel {channel!r}; there are {there}")
    return np.array(scores.channels[name], np.float64)


def group_rewards(group: Group, scores: Scores, *, channel: str | None = None) -> np.ndarray:
    """Compute the total reward of each sibling: [G] float64, outcome plus per-turn rewards; NaN if unscored.

    Args:
        channel: name of one of `scores.channels`, taken instead of the total; see `resolve_channel`. NaN, too, where
            the outcome is NaN.

    Raises:
        InputError: a wrong shape, an infinite value, an unknown channel, or a per-turn reward that is not finite in a
            scored trajectory.
    """
    values = channel_values(scores, channel)
    if values.shape != (len(group),) or np.shape(scores.outcome) != (len(group),):
        raise InputError(f"scores of shape {values.shape} for a group of {len(group)} siblings")
    if channel is None and scores.turns is not None:
        for i, own in enumerate(turn_rewards(group, scores)):
            values[i] += own.sum()
    for trajectory, value, outcome in zip(group, values, scores.outcome):
        if np.isinf(value) or (np.isnan(value) and not np.isnan(outcome)):
            raise InputError(f"the reward of trajectory {trajectory.id!r} is not finite")
    values[np.isnan(scores.outcome)] = np.nan  # a channel may have a number for an unscored sibling
    return values


def statistics_mask(group: Group, scores: Scores, rewards: np.ndarray, stats_over: str = "all") -> np.ndarray:
    """Select the siblings that count in group statistics: [G] bool.

    Args:
        rewards: [G]; NaN (unscored) never counts.
        stats_over: "all" scored siblings, or the "eligible" ones among them (`scores.eligible`; None selects all).

    Raises:
        InputError: any other `stats_over`.
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
    """Return the per-turn rewards of each sibling [N_i], outcome excluded; 0 without per-turn rewards."""
    if scores.turns is None:
        return [np.zeros(len(trajectory.turns)) for trajectory in group]
    rewards = [np.array(own, np.float64) for own in scores.turns]
    lengths, expected = [len(own) for own in rewards], [len(trajectory.turns) for trajectory in group]
    if lengths != expected:
        raise InputError(f"scores.turns has {lengths} entries a sibling; the siblings have {expected} turns")
    return rewards


def turn_channel(group: Group, scores: Scores, name: str | None) -> list[np.ndarray]:
    """Return a named per-turn channel of each sibling [N_i], or the per-turn rewards if there is no name.

    The values of unscored siblings (outcome NaN) are 0.

    Raises:
        InputError: an unknown channel, or values of a scored sibling that are not finite.
    """
    if name is not None and name not in scores.turn_channels:
        available = ", ".join(sorted(scores.turn_channels)) or "none"
        raise InputError(f"the scores have no per-turn channel {name!r}; there are {available}")
    values = turn_rewards(group, scores if name is None else Scores(scores.outcome, scores.turn_channels[name]))
    for trajectory, own, outcome in zip(group, values, scores.outcome, strict=True):
        if np.isnan(outcome):
            own[:] = 0.0
        elif not np.isfinite(own).all():
            raise InputError(f"the turn rewards of trajectory {trajectory.id!r} are not finite: {own}")
    return values


def token_rewards(group: Group, scores: Scores, *, turns: bool = False) -> list[np.ndarray]:
    """Place the rewards on tokens: a turn's reward on its last token, the outcome on the very last token.

    Args:
        turns: return one entry for each turn [N_i] instead of each policy token [P_i]; the outcome is then on the last
            turn.

    Returns:
        For each sibling [P_i] or [N_i] float64; all 0 for unscored siblings (outcome NaN).
    """
    values = group_rewards(group, scores)
    out = []
    for trajectory, own, value, outcome in zip(group, turn_rewards(group, scores), values, scores.outcome):
        if np.isnan(value):
            own = np.zeros(len(own))
        elif len(own):
            own[-1] += outcome
        if not turns:
            spread = np.zeros(trajectory.num_tokens)
            spread[turn_end_indices(trajectory)] = own
            own = spread
        out.append(own)
    return out


def _widths(trajectory: Trajectory) -> np.ndarray:
    return np.array([turn.stop - turn.start for turn in trajectory.turns], int)
