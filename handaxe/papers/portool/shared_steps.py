"""Turn rewards shared by all trajectories through the turn."""

from dataclasses import replace
from math import fsum
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Turn
from handaxe.ops.turn_tree import turn_tree
from handaxe.rewards.parts.checks import outcome_only, validate_scores

__all__ = ["shared_steps"]


def shared_steps(
    *,
    base: Reward,
    gamma: float = 0.95,
    format_weight: float = 0.1,
    descendants: Literal["mean", "max"] = "mean",
) -> Reward:
    """Reward a turn by the outcomes of all trajectories through it, and by the success of its calls.

        R(s) = (1 / |m(s)|) sum_{i in m(s)} gamma^(T_i - t) * base_i + format_weight * f(s)
               max_{i in m(s)} instead of the mean with descendants="max"
        f(s) = 1 if every call of the turn was well formed and every reply is "ok", else -1

    m(s) are the siblings that share turn s and its whole history (`ops.turn_tree.turn_tree`), t its number from 1, T_i
    the number of turns of trajectory i: with gamma < 1 a longer path is worth less. A trajectory without forks shares
    no turn. A reply with infra_error does not affect f.

    Args:
        base: reward of the whole trajectory.
        gamma: discount per turn, in (0, 1].
        format_weight: w_fmt, >= 0; 0 leaves f out. A turn without calls counts as well formed.
        descendants: aggregate over the trajectories through a turn, "mean" or "max".

    Returns:
        A reward with the outcome of the base; R is the turn channel "step", for `fork_norm(channel="step")`, and the
        mean over a trajectory's turns the channel "steps", for `group_norm(channel="steps")`.

    Raises:
        InputError: a base reward with per-turn values, an argument out of range.

    Example:
        gamma 0.9, format_weight 0: turn a is followed by the last turn of one correct trajectory and by two more of a
        wrong
        one: R(a) = (0.9 * 1 + 0) / 2 = 0.45, with "max" 0.9; turn b of one wrong trajectory: 0

    Paper: PORTool, arXiv:2510.26020, step rewards; "max" is its second version's.
    Unconfirmed: the formula and its numbers, such as the mean over turns, under which the shorter of two correct
        trajectories earns more; a sum would reward every further turn.
    Differs: the base is any reward; the paper asks a model for correctness.
    """
    if not 0 < gamma <= 1 or format_weight < 0 or descendants not in ("mean", "max"):
        raise InputError(
            f"shared_steps has gamma={gamma}, format_weight={format_weight} and descendants={descendants!r}; give a "
            'gamma in (0, 1], a weight of 0 or more, and "mean" or "max"'
        )

    def reward(group: Group) -> Scores:
        scores, tree = outcome_only(validate_scores(base(group), group, "base"), "base"), turn_tree(group)
        value_S = np.zeros(len(tree.members))
        for i, own in enumerate(tree.nodes):
            for k, step in enumerate(own):
                if tree.members[step][0] != i:
                    continue
                ends = [gamma ** (len(group[j].turns) - k - 1) * scores.outcome[j] for j in tree.members[step]]
                worth = max(ends) if descendants == "max" else fsum(ends) / len(ends)
                value_S[step] = worth + format_weight * _worked(group[i].turns[k])
        steps = tuple(value_S[own] for own in tree.nodes)
        means = np.array([fsum(own) / max(1, len(own)) for own in steps])
        return replace(
            scores,
            channels={**scores.channels, "steps": means},
            turn_channels={**scores.turn_channels, "step": steps},
        )

    return reward


def _worked(turn: Turn) -> float:
    """f(s): 1 or -1."""
    failed = any(reply.status not in ("ok", "infra_error") for reply in turn.replies)
    return -1.0 if turn.parsed.errors or failed else 1.0
