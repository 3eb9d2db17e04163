"""Navigation processes with one rewarded action: rooms, a line with a key, and a chain with a distractor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp

__all__ = ["Navigation", "chain", "line_key", "rooms"]

MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
END = -1
"""Place of the absorbing state."""


@dataclass(frozen=True)
class Navigation:
    """Process, true rewards [S, A], the largest length of an episode, and a partition of the states.

    The last state is absorbing and pays nothing. leaf_S numbers the parts of the partition, with -1 for the last state.
    """

    mdp: FiniteMdp
    reward_SA: np.ndarray
    horizon: int
    leaf_S: np.ndarray


def rooms(
    *, size: int = 7, slip: float = 0.1, discount: float = 0.95, reward: float = 10.0, start: int = 0
) -> Navigation:
    """Make four rooms, with a goal in the corner that is opposite to the first cell.

    Walls fill the middle row and the middle column, except for one door between neighbouring rooms, at a quarter of the
    side. The four moves are right, down, left and up; a move against a wall stays. Right at the goal pays and ends the
    episode. Leaves are the four rooms, each door, and the goal.

    Args:
        size: cells of a side, odd, 5 or more.
        slip: probability that a random move replaces the chosen one.
        discount: of the return.
        reward: of the rewarded action, R_max.
        start: number of the first cell, rows first, walls not counted.

    Raises:
        InputError: an even size, a size below 5, or a slip outside [0, 1].

    Example:
        rooms().mdp.transition_SAZ.shape  ->  (41, 4, 41): 9 cells in each of four rooms, four doors, the end

    Paper: Devidze et al., NeurIPS 2021 (EXPRD), RoomsNavEnv: R_max 10, discount 0.95, slip 0.1.
    Differs: the released environment has walls between cells instead of walls of cells.
    """
    if size < 5 or size % 2 == 0:
        raise InputError(f"size is {size}; give an odd number, 5 or more")
    middle = size // 2
    near = middle // 2
    far = size - 1 - near
    doors = {(middle, near), (middle, far), (near, middle), (far, middle)}
    cells = [
        (row, column)
        for row in range(size)
        for column in range(size)
        if (row, column) in doors or middle not in (row, column)
    ]
    number = {cell: place for place, cell in enumerate(cells)}
    reached_SA = np.zeros((len(cells), len(MOVES)), dtype=int)
    for (row, column), place in number.items():
        for move, (down, right) in enumerate(MOVES):
            reached_SA[place, move] = number.get((row + down, column + right), place)
    reached_SA[-1, 0] = END
    leaves = [2 * (row > middle) + (column > middle) for row, column in cells]
    for place, door in enumerate(sorted(doors)):
        leaves[number[door]] = 4 + place
    leaves[-1] = 8
    return _navigation(reached_SA, slip, discount, reward, start, paid=(len(cells) - 1, 0), horizon=30, leaves=leaves)


def line_key(*, length: int = 10, slip: float = 0.1, discount: float = 0.95, reward: float = 10.0) -> Navigation:
    """Make a line of cells on which a key must be picked up before the goal pays.

    Actions are left, right and pick. The key lies at cell 1. The episode begins in the middle, without the key. Right
    at the last cell ends the episode, and pays with the key alone. State number: cell + length * key. Leaves: no key;
    no key at the goal; no key at the place of the key; key; key at the goal.

    Args:
        length: cells, 4 or more.
        slip: probability that a random action replaces the chosen one.
        discount: of the return.
        reward: of the rewarded action, R_max.

    Raises:
        InputError: a length below 4, or a slip outside [0, 1].

    Example:
        line_key().mdp.transition_SAZ.shape  ->  (21, 3, 21)

    Paper: arXiv:2402.07019 (EXPADARD), LineK: 10 cells, R_max 10, discount 0.95, slip 0.1, episodes of 30 steps.
    Differs: the place of the key is of this library.
    """
    if length < 4:
        raise InputError(f"length is {length}; give 4 or more")
    reached_SA = np.zeros((2 * length, 3), dtype=int)
    for key in (0, 1):
        for cell in range(length):
            place = cell + length * key
            reached_SA[place, 0] = max(cell - 1, 0) + length * key
            reached_SA[place, 1] = cell + 1 + length * key if cell + 1 < length else END
            reached_SA[place, 2] = cell + length if cell == 1 else place
    leaves = [0] * length + [3] * length
    leaves[length - 1] = 1
    leaves[1] = 2
    leaves[2 * length - 1] = 4
    paid = (2 * length - 1, 1)
    return _navigation(reached_SA, slip, discount, reward, length // 2, paid=paid, horizon=30, leaves=leaves)


def chain(
    *, right: int = 12, left: int = 24, slip: float = 0.05, discount: float = 0.99, distractor: float = 0.0
) -> Navigation:
    """Make a chain with a far reward on the right, and a distractor on the left.

    Actions are left and right. Right in the last cell pays 1 and stays; left in the first cell ends the episode. The
    distractor pays for left, at the cell that is 3/8 of the way to the left end.

    Args:
        right: moves from the first state to the last cell, 1 or more.
        left: cells on the left of the first state, 8 or more.
        slip: probability that a random action replaces the chosen one.
        discount: of the return.
        distractor: reward of the distractor.

    Raises:
        InputError: too few cells, or a slip outside [0, 1].

    Example:
        chain(right=2, left=8).reward_SA[10]  ->  (0, 1)

    Paper: Devidze et al., NeurIPS 2022 (EXPLORS), Chain: 20 and 40 cells, slip 0.05, discount 0.99, distractor 0.01 at
        15 of 40 cells, episodes of twice the way to the right.
    Differs: 12 and 24 cells, and episodes of 18 steps, so that random episodes reach the reward about as rarely.
    """
    if right < 1 or left < 8:
        raise InputError(f"right is {right} and left {left}; give 1 and 8 or more")
    cells = left + right + 1
    reached_SA = np.stack([np.arange(cells) - 1, np.minimum(np.arange(cells) + 1, cells - 1)], axis=1)
    paid = (cells - 1, 1)
    made = _navigation(reached_SA, slip, discount, 1.0, left, paid=paid, horizon=3 * right // 2, leaves=[0] * cells)
    made.reward_SA[left - 3 * left // 8, 0] = distractor
    return made


def _navigation(
    reached_SA: np.ndarray,
    slip: float,
    discount: float,
    reward: float,
    start: int,
    *,
    paid: tuple[int, int],
    horizon: int,
    leaves: list[int],
) -> Navigation:
    """Add slips and the absorbing state to the cells that moves reach."""
    if not 0 <= slip <= 1:
        raise InputError(f"slip is {slip}; give a probability")
    cells, actions = reached_SA.shape
    transition_SAZ = np.zeros((cells + 1, actions, cells + 1))
    transition_SAZ[-1, :, -1] = 1.0
    for cell in range(cells):
        for action in range(actions):
            transition_SAZ[cell, action, reached_SA[cell, action]] += 1 - slip
            transition_SAZ[cell, :, reached_SA[cell, action]] += slip / actions
    reward_SA = np.zeros((cells + 1, actions))
    reward_SA[paid] = reward
    mdp = FiniteMdp(transition_SAZ, np.eye(cells + 1)[start], discount)
    return Navigation(mdp, reward_SA, horizon, np.array([*leaves, -1]))
