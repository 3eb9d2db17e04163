"""Replaces groups without variance by copies of valuable groups."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup
from handaxe.ops.ragged import group_rewards, scale_tokens
from handaxe.ops.returns import standard_deviation
from handaxe.ops.seeds import generator

__all__ = ["refill_by_value"]

ROUNDING = 1e-9


def refill_by_value(*, best: float = 1.0, damping: float = 0.5, even: bool = False, seed: int = 0) -> Selector:
    """Drop groups of equal rewards, and refill the batch with copies of hard and uncertain groups.

        V_g  = (best - mean(R_g)) * std(R_g)      std divides by n; groups with std 0 are dropped
        each dropped group is replaced by a copy sampled with replacement, group g with probability V_g / sum of V
        the j-th occurrence of a group in the batch has advantages A * damping^(j - 1); j = 1 is the group itself

    R_i is the outcome plus the per-turn rewards of every scored sibling, masked or not. A copy is a separate group: its
    rollouts, tokens and turns count in every denominator, and its ratio and KL term count again. The record shows for
    each rollout the sum of its advantages.

    Args:
        best: R_max, the maximum reward of a rollout.
        damping: rho, in [0, 1]; 1 leaves copies unchanged. Dividing A by the number of copies would cancel the refill
            under a mean.
        even: sample copies uniformly, the paper's ablation.
        seed: of the sampling, which also depends on the step and on the ids and values of the groups.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the remaining groups in order, then the copies. There are no copies if
        no group remains or none was dropped; a group without a trained sibling is never copied.

    Raises:
        InputError: damping out of range, a rollout with a reward above `best`.

    Example:
        best 1; rewards (1, 1, 0, 0), (1, 1, 1, 0), (0.2, 0.2, 0.3, 0.1), (0, 0, 0, 0)  ->  V 0.25, 0.1083, 0.0566, 0:
        the last is dropped, and one copy sampled with 0.603, 0.261, 0.136
        a group copied twice, damping 0.5  ->  A, A / 2 and A / 4: 1.75 A in all

    Paper: arXiv:2512.07478 (VSPO), value-based sampling.
    Unconfirmed: the law of the damping, and whether samples are copies or new rollouts.
    Differs: nothing else.
    """
    if not 0 <= damping <= 1:
        raise InputError(f"refill_by_value takes a damping from 0 to 1, not {damping}")

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        value_R = [_value(one, best) for one in rated]
        valued = [(one, value) for one, value in zip(rated, value_R, strict=True) if value is not None]
        varied, dropped = [one for one, _ in valued], len(rated) - len(valued)
        copyable = [pair for pair in valued if pair[1] and _trains(pair[0])]
        copyable.sort(key=lambda pair: pair[0].group[0].id)
        if not copyable or not dropped:
            return varied
        weights = np.array([1.0 if even else value for _, value in copyable])
        step = max(one.group.step for one in rated)
        rng = generator("refill_by_value", seed, step)
        sampled = rng.choice(len(copyable), dropped, p=weights / weights.sum())
        times = np.ones(len(copyable), int)
        copies = []
        for place in sampled.tolist():
            copies.append(_scaled(copyable[place][0], damping ** int(times[place])))
            times[place] += 1
        return varied + copies

    return select


def _value(one: RatedGroup, best: float) -> float | None:
    """V of a group; None for equal rewards."""
    reward_G = group_rewards(one.group, one.scores)
    reward_G = reward_G[~np.isnan(reward_G)]
    spread = standard_deviation(reward_G, "population")
    if not spread:
        return None
    if reward_G.max() > best + ROUNDING:
        raise InputError(
            f"a rollout of task {one.group.task.id!r} earned {reward_G.max():g}, and best is {best:g}: raise `best`"
        )
    return (best - float(reward_G.mean())) * spread


def _trains(one: RatedGroup) -> bool:
    return any(mask_T.any() for i in range(len(one.group)) for mask_T in one.training_mask(i))


def _scaled(one: RatedGroup, factor: float) -> RatedGroup:
    old = one.advantages
    channels = {name: scale_tokens(values, factor) for name, values in old.channels.items()}
    return replace(one, advantages=replace(old, tokens=scale_tokens(old.tokens, factor), channels=channels))
