"""Give each role of a policy its own denominator."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup, Trajectory
from handaxe.ops.ragged import scatter, token_turn_indices

__all__ = ["Roles", "balance_roles"]

Roles = Callable[[Trajectory], Sequence[str]]
"""Trajectory -> role of each turn."""


def balance_roles(*, roles: Roles) -> AdvantageTransform:
    """Weight the roles of one policy equally in a mean over tokens, however much each of them writes.

        A'_t = A_t N / (K N_k)        k the role of token t

        1/N sum_t A'_t l_t = 1/K sum_k 1/N_k sum_{t of k} A_t l_t

    N_k is the number of training tokens of role k in the batch, N their sum, and K the number of roles with such
    tokens. The second line holds for the reduction `token_mean` and a loss l proportional to a positive factor of the
    advantage, such as PPO's clip. A role that writes twice as much then leaves the gradient of other roles unchanged.
    Terms without an advantage, such as KL, keep the mean over all tokens.

    Args:
        roles: role of each turn of a trajectory.

    Returns:
        A transform: [RatedGroup] -> [RatedGroup], the same groups in the same order. Value targets and tokens outside
        `RatedGroup.training_mask` stay unchanged, as does a batch of one role.

    Raises:
        InputError: the roles of a trajectory are not one for each turn.

    Example:
        solver with 6 tokens and verifier with 2, all of advantage 1 (N = 8, K = 2)  ->  2/3 and 2

        of a trajectory of `rollouts.in_roles`: roles=lambda one: [turn.role for turn in role_turns(one)]

    Idea: denominators by role, so that a verbose verifier does not dilute the solver's mean.
    Kept: users' own agents of several roles; no paper here states denominators by role.
    """

    def shape(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        named = [[_token_roles(trajectory, roles) for trajectory in one.group] for one in rated]
        counts = Counter[str]()
        for one, siblings in zip(rated, named, strict=True):
            for i, arrays in enumerate(siblings):
                for role_T, mask_T in zip(arrays, one.training_mask(i), strict=True):
                    counts.update(role_T[mask_T].tolist())
        total = sum(counts.values())
        factor = {role: total / (len(counts) * count) for role, count in counts.items()}
        return [_weighted(one, siblings, factor) for one, siblings in zip(rated, named, strict=True)]

    return shape


def _token_roles(trajectory: Trajectory, roles: Roles) -> list[np.ndarray]:
    """[T] object for each sequence: role of each token of a turn, "" for other tokens."""
    names = list(roles(trajectory))
    if len(names) != len(trajectory.turns):
        raise InputError(
            f"balance_roles needs a role for each of the {len(trajectory.turns)} turns of {trajectory.id!r}, "
            f"not {len(names)}: {names}"
        )
    own = np.array(["", *names], dtype=object)
    return [own[turn_T.astype(int)] for turn_T in scatter(trajectory, token_turn_indices(trajectory) + 1.0)]


def _weighted(one: RatedGroup, siblings: Sequence[Sequence[np.ndarray]], factor: dict[str, float]) -> RatedGroup:
    tokens = []
    for i, (roles, values) in enumerate(zip(siblings, one.advantages.tokens, strict=True)):
        own = []
        for role_T, adv_T, mask_T in zip(roles, values, one.training_mask(i), strict=True):
            factor_T = np.array([factor.get(role, 1.0) for role in role_T], dtype=np.float64)
            own.append(np.where(mask_T, adv_T * factor_T, adv_T))
        tokens.append(tuple(own))
    return replace(one, advantages=replace(one.advantages, tokens=tuple(tokens)))
