"""Credit for checklists: by trajectory, by user turn, or by step of the policy."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.criteria import user_turn_indices
from handaxe.ops.ragged import group_rewards, scatter, statistics_mask, token_turn_indices, turn_channel
from handaxe.ops.returns import standardise

__all__ = ["checklist_credit"]

Assign = Literal["trajectory", "turn", "step"]


def checklist_credit(*, assign: Assign = "trajectory") -> Credit:
    """Give tokens the earned checklist weight, centred over the siblings.

        trajectory   A_i = R_i - mean_i R_i                                  all tokens of rollout i
        turn         A_it = R_it - mean over the rollouts that reached t     tokens of the policy's turns in user turn t
                     R_it = sum of the weights earned in it
        step         A_in = sum_c w_inc (item_inc - b_c) / sum_c w_inc       tokens of turn n of the policy
                     b_c  = share of the rollouts that earn criterion c

    A step is a turn of the policy; w_inc is 0 if criterion c cannot be earned in turn n, and item_inc is 1 if it is
    earned in turn n or later. A turn that can earn nothing gets 0. No standard deviation divides the advantages.

    The paper finds "sparse in assignment, dense in criteria": step-level credit learns faster and then collapses,
    trajectory-level credit is the most stable.

    Args:
        assign: "trajectory", "turn" or "step".

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. An unscored sibling (outcome NaN) gets 0 and is
        excluded from the means; a lone sibling and equal siblings get 0.

    Raises:
        InputError: an unknown `assign`, scores without the turn channels of `papers.cm2.checklist` unless it is
            "trajectory", and scores that do not fit the group or are infinite.

    Example:
        weights 0.6 and 0.4; rollout a earns both, in turns 0 and 1, b the first in turn 1:
        trajectory (and turn, if the user speaks once)  ->  0.2 and -0.2
        step  ->  a 0.2, 0.5 and b -0.2, -0.2: in turn 0 both are open to both, b_c = 1 and 0.5

    Paper: arXiv:2602.12268 (CM2), the three assignments, with F = 1.
    Differs: nothing.
    """
    if assign not in ("trajectory", "turn", "step"):
        raise InputError(f"checklist_credit takes assign trajectory, turn or step, not {assign!r}")

    def credit(group: Group, scores: Scores) -> Advantages:
        reward_G = group_rewards(group, scores)
        counted_G = statistics_mask(group, scores, reward_G, "all")
        if assign == "trajectory":
            level_G = standardise(reward_G, counted_G, std=None)
            turns = [np.full(len(one.turns), level) for one, level in zip(group, level_G)]
        elif assign == "turn":
            turns = _by_part(group, turn_channel(group, scores, "checklist"), counted_G)
        else:
            turns = _by_step(group, scores, counted_G)
        return Advantages(
            tuple(scatter(one, own[token_turn_indices(one)]) for one, own in zip(group, turns, strict=True))
        )

    return credit


def _by_part(group: Group, earned: Sequence[np.ndarray], counted_G: np.ndarray) -> list[np.ndarray]:
    parts = [user_turn_indices(one) for one in group]
    out = [np.zeros(len(one.turns)) for one in group]
    for part in range(max((int(own.max(initial=-1)) for own in parts), default=-1) + 1):
        sum_G = np.array(
            [float(own[user_turn_N == part].sum()) for own, user_turn_N in zip(earned, parts, strict=True)]
        )
        there_G = counted_G & np.array([bool((user_turn_N == part).any()) for user_turn_N in parts])
        level_G = standardise(np.where(there_G, sum_G, 0.0), there_G, std=None)
        for own, user_turn_N, level in zip(out, parts, level_G):
            own[user_turn_N == part] = level
    return out


def _by_step(group: Group, scores: Scores, counted_G: np.ndarray) -> list[np.ndarray]:
    turn_channel(group, scores, "checklist")
    names = [name.removeprefix("item/") for name in scores.turn_channels if name.startswith("item/")]
    above = [np.zeros(len(one.turns)) for one in group]
    weight = [np.zeros(len(one.turns)) for one in group]
    for name in names:
        items, weights = (turn_channel(group, scores, f"{kind}/{name}") for kind in ("item", "weight"))
        share = np.mean([bool(items[i].any()) for i in np.flatnonzero(counted_G)]) if counted_G.any() else 0.0
        for i in np.flatnonzero(counted_G):
            above[i] += weights[i] * (items[i] - share)
            weight[i] += weights[i]
    return [np.divide(a, w, out=np.zeros(len(a)), where=w > 0) for a, w in zip(above, weight)]
