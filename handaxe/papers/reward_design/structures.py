"""Structures of interpretable rewards: matrices that map few weights to a reward."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["leaf_basis", "sparse_basis"]


def sparse_basis(shape: tuple[int, int], states: Collection[int]) -> np.ndarray:
    """Make the basis of rewards that are 0 outside of some states.

    Args:
        shape: states and actions.
        states: where a reward may differ from 0.

    Returns:
        [S * A, states * A] of 0 and 1.

    Raises:
        InputError: a state that does not exist.

    Example:
        sparse_basis((2, 1), [1])  ->  (0), (1)

    Paper: Devidze et al., NeurIPS 2021 (EXPRD), sparseness as a set of states.
    Differs: nothing.
    """
    if not set(states) <= set(range(shape[0])):
        raise InputError(f"states are {sorted(states)}; give numbers from 0 to {shape[0] - 1}")
    inside_K = np.repeat(np.isin(np.arange(shape[0]), list(states)), shape[1])
    return np.eye(shape[0] * shape[1])[:, inside_K]


def leaf_basis(leaf_S: np.ndarray, actions: int) -> np.ndarray:
    """Make the basis of rewards that are equal in all states of a leaf.

    Args:
        leaf_S: leaf of each state, from 0; -1 for states without reward.
        actions: number of actions.

    Returns:
        [S * A, leaves * A] of 0 and 1.

    Raises:
        InputError: a leaf without states, or no leaf.

    Example:
        leaf_basis(np.array([0, 0, -1]), 1)  ->  (1), (1), (0)

    Paper: arXiv:2402.07019 (EXPADARD), rewards that are tied over the leaves of a tree; in line with the released code.
    Differs: nothing.
    """
    leaves = int(leaf_S.max()) + 1
    if set(leaf_S.tolist()) - {-1} != set(range(leaves)) or not leaves:
        raise InputError(f"leaves are {sorted(set(leaf_S.tolist()))}; give every number from 0 on, and -1 for none")
    member_SL = (leaf_S[:, None] == np.arange(leaves)).astype(np.float64)
    return np.kron(member_SL, np.eye(actions))
