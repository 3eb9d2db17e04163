"""Scores every turn by what became of all attempts that went through it."""

from dataclasses import replace
from math import fsum
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Turn
from handaxe.ops.forks import steps_of
from handaxe.rewards.parts.checks import checked, outcome_only

__all__ = ["shared_steps"]


def shared_steps(
    *,
    base: Reward,
    gamma: float = 0.95,
    format_weight: float = 0.1,
    descendants: Literal["mean", "max"] = "mean",
) -> Reward:
    """Give a turn one reward in all the attempts that share it: how well these end, and whether its calls worked.

        R(s) = (1 / |m(s)|) sum_{i in m(s)} gamma^(T_i - t) * base_i + format_weight * f(s)
               max_{i in m(s)} in the place of the mean, with descendants="max"
        f(s) = 1 where every call of the turn was well formed and every reply is "ok", else -1

    m(s) are the siblings that have turn s in common with all that led to it (`ops.forks.steps_of`), t its number from
    1, T_i the number of turns of attempt i: with gamma < 1 the longer way is worth less. An attempt without forks has
    its turns for itself. A reply that failed by infra_error says nothing of the turn.

    Args:
        base: what an attempt earns in the end.
        gamma: discount a turn, in (0, 1].
        format_weight: w_fmt, >= 0; 0 leaves f out. A turn without calls counts as well formed.
        descendants: how the attempts through a turn are put together.

    Returns:
        A reward whose outcome is the base's; R stands in the turn channel "step", for `fork_norm(channel="step")`, and
        the mean over an attempt's turns in the channel "steps", for `group_norm(channel="steps")`.

    Raises:
        InputError: a base reward with per-turn values, an argument out of range.

    Example:
        gamma 0.9, format_weight 0: turn a is followed by the last turn of one right attempt and by two more of a wrong
        one: R(a) = (0.9 * 1 + 0) / 2 = 0.45, with "max" 0.9; turn b of one wrong attempt: 0

    Paper: PORTool, arXiv:2510.26020, step rewards; "max" is its second version's.
    Unconfirmed: the formula and its numbers, such as the mean over turns, by which the shorter of two right attempts
        has more; their sum would pay for every further turn.
    Differs: the base is any reward, where the paper asks a model for right or wrong.
    """
    if not 0 < gamma <= 1 or format_weight < 0 or descendants not in ("mean", "max"):
        raise InputError(
            f"shared_steps has gamma={gamma}, format_weight={format_weight} and descendants={descendants!r}; give a "
            'gamma in (0, 1], a weight of 0 or more, and "mean" or "max"'
        )

    def reward(group: Group) -> Scores:
        scores, tree = outcome_only(checked(base(group), group, "base"), "base"), steps_of(group)
        value_S = np.zeros(len(tree.through))
        for i, own in enumerate(tree.of):
            for k, step in enumerate(own):
                if tree.through[step][0] != i:
                    continue
                ends = [gamma ** (len(group[j].turns) - k - 1) * scores.outcome[j] for j in tree.through[step]]
                worth = max(ends) if descendants == "max" else fsum(ends) / len(ends)
                value_S[step] = worth + format_weight * _worked(group[i].turns[k])
        steps = tuple(value_S[own] for own in tree.of)
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
