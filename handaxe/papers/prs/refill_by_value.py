"""Put groups that teach much a second time into the places of groups that teach nothing."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import Rated
from handaxe.ops.ragged import multiplied, rewards_of
from handaxe.ops.returns import deviation
from handaxe.ops.seeds import generator

__all__ = ["refill_by_value"]

ROUNDING = 1e-9


def refill_by_value(*, best: float = 1.0, damping: float = 0.5, even: bool = False, seed: int = 0) -> Selector:
    """Drop groups of equal rewards, and fill their places with copies of others, the hard and uncertain ones first.

        V_g  = (best - mean(R_g)) * std(R_g)      std divides by n; groups with std 0 are dropped
        as many copies as were dropped are drawn with replacement, group g with probability V_g / sum of V
        the j-th time that a group is in the batch, its advantages are A * damping^(j - 1); j = 1 is the group itself

    R_i is the outcome plus the per-turn rewards of every sibling that was scored, whether or not it trains. A copy
    is a group of its own: its rollouts, tokens and turns count in every denominator, its ratio and its KL term once
    more. The record says of an attempt the sum of the advantages that it trained with.

    Args:
        best: R_max, the most that an attempt can earn.
        damping: rho, in [0, 1]; 1 leaves copies as they are. A / (how often it comes) instead would take back, under a
            mean, all that the copies give.
        even: draw every group that is left alike, the paper's ablation.
        seed: of the draws, which depend on the step, and on nothing else but the groups' ids and values.

    Returns:
        A selector: [Rated] -> [Rated], those that are left, in order, and then the copies. Where none is left, or no
        group was dropped, there are no copies; a group without a sibling that trains is never copied.

    Raises:
        InputError: damping out of range, an attempt that earned more than `best`.

    Example:
        best 1; rewards (1, 1, 0, 0), (1, 1, 1, 0), (0.2, 0.2, 0.3, 0.1), (0, 0, 0, 0)  ->  V 0.25, 0.1083, 0.0566, 0:
        the last is dropped, and one copy drawn with 0.603, 0.261, 0.136
        a group drawn twice, damping 0.5  ->  A, A / 2 and A / 4: 1.75 A in all

    Paper: arXiv:2512.07478 (VSPO), its value-based sampling.
    Unconfirmed: the damping, which the paper names and whose law was not found; whether its samples are copies or
    played anew.
    Differs: nothing else.
    """
    if not 0 <= damping <= 1:
        raise InputError(f"refill_by_value takes a damping from 0 to 1, not {damping}")

    def select(rated: Sequence[Rated]) -> list[Rated]:
        value_R = [_value(one, best) for one in rated]
        valued = [(one, value) for one, value in zip(rated, value_R, strict=True) if value is not None]
        kept, dropped = [one for one, _ in valued], len(rated) - len(valued)
        able = sorted((pair for pair in valued if pair[1] and _trains(pair[0])), key=lambda pair: pair[0].group[0].id)
        if not able or not dropped:
            return kept
        weights = np.array([1.0 if even else value for _, value in able])
        step = max(one.group.step for one in rated)
        rng = generator("refill_by_value", seed, step)
        drawn = rng.choice(len(able), dropped, p=weights / weights.sum())
        times = np.ones(len(able), int)
        copies = []
        for place in drawn.tolist():
            copies.append(_scaled(able[place][0], damping ** int(times[place])))
            times[place] += 1
        return kept + copies

    return select


def _value(one: Rated, best: float) -> float | None:
    """What a group is worth; None where its rewards are equal."""
    reward_G = rewards_of(one.group, one.scores)
    reward_G = reward_G[~np.isnan(reward_G)]
    spread = deviation(reward_G, "population")
    if not spread:
        return None
    if reward_G.max() > best + ROUNDING:
        raise InputError(
            f"an attempt at task {one.group.task.id!r} earned {reward_G.max():g}, and refill_by_value was told that "
            f"{best:g} is the best: raise `best`"
        )
    return (best - float(reward_G.mean())) * spread


def _trains(one: Rated) -> bool:
    return any(mask_T.any() for i in range(len(one.group)) for mask_T in one.training_mask(i))


def _scaled(one: Rated, factor: float) -> Rated:
    old = one.advantages
    channels = {name: multiplied(values, factor) for name, values in old.channels.items()}
    return replace(one, advantages=replace(old, tokens=multiplied(old.tokens, factor), channels=channels))
