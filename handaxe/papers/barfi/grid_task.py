"""Grid with a goal, and heuristics of a designer: one that leads to the goal, and one that leads elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, expected_reward

__all__ = ["GridTask", "Heuristic", "grid_task"]

Heuristic = Literal["helpful", "misleading"]
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


@dataclass(frozen=True)
class GridTask:
    """Process, expected rewards [S, A], and the cells of goal and decoy.

    primary     probability of entering the goal
    auxiliary   heuristic of the next cell
    shaped      primary plus the potential-based form: discount h(next) - h(cell), 0 at the goal
    """

    mdp: FiniteMdp
    primary_SA: np.ndarray
    auxiliary_SA: np.ndarray
    shaped_SA: np.ndarray
    goal: int
    decoy: int


def grid_task(
    rng: np.random.Generator,
    *,
    heuristic: Heuristic,
    size: int = 5,
    slip: float = 0.1,
    discount: float = 0.95,
    step_cost: float = 0.1,
    decoy_reward: float = 0.3,
) -> GridTask:
    """Draw the cells of start, goal and decoy, and make a task with four moves.

        primary      1 for entering the goal, which is never left and pays nothing more
        helpful      h(s) = -step_cost * moves from s to the goal
        misleading   h(s) = decoy_reward at the decoy, else 0

    The sum of primary and misleading rewards is highest for a policy that stays at the decoy: decoy_reward /
    (1 - discount) = 6 with the defaults, where the goal gives 1. A move against the border stays.

    Args:
        rng: of the cells.
        heuristic: helpful or misleading.
        size: cells of a side, 2 or more.
        slip: probability that a random move replaces the chosen one.
        discount: of the primary return.
        step_cost: of the helpful heuristic.
        decoy_reward: of the misleading heuristic.

    Returns:
        The task; equal draws have equal cells for both heuristics.

    Raises:
        InputError: an unknown heuristic, a size below 2, a slip outside [0, 1].

    Example:
        grid_task(np.random.default_rng(0), heuristic="misleading").auxiliary_SA.max()  ->  0.3 at most

    Paper: arXiv:2310.19007 (BARFI), grid world with auxiliary rewards of varying quality.
    Unconfirmed: sizes and amounts of all rewards.
    Differs: a start, a goal and a decoy are drawn; the paper has fixed grids and continuous tasks as well.
    """
    if heuristic not in ("helpful", "misleading"):
        raise InputError(f"heuristic is {heuristic!r}; give helpful or misleading")
    if size < 2 or not 0 <= slip <= 1:
        raise InputError(f"size is {size} and slip {slip}; give 2 or more, and a probability")
    start, goal, decoy = (int(cell) for cell in rng.choice(size * size, 3, replace=False))
    transition_SAZ = _transitions(size, slip)
    transition_SAZ[goal] = np.eye(size * size)[goal]
    mdp = FiniteMdp(transition_SAZ, np.eye(size * size)[start], discount)
    enters_Z = np.eye(size * size)[goal]
    potential_S = -step_cost * _distance(size, goal)
    if heuristic == "misleading":
        potential_S = decoy_reward * np.eye(size * size)[decoy]

    def paid(reward_SZ: np.ndarray) -> np.ndarray:
        """Expected reward of a transition, 0 at the goal."""
        mean_SA = expected_reward(mdp, np.broadcast_to(reward_SZ[:, None, :], transition_SAZ.shape))
        mean_SA[goal] = 0.0
        return mean_SA

    primary_SA = paid(np.tile(enters_Z, (size * size, 1)))
    auxiliary_SA = paid(np.tile(potential_S, (size * size, 1)))
    shaped_SA = primary_SA + paid(discount * potential_S[None, :] - potential_S[:, None])
    return GridTask(mdp, primary_SA, auxiliary_SA, shaped_SA, goal, decoy)


def _transitions(size: int, slip: float) -> np.ndarray:
    transition_SAZ = np.zeros((size * size, len(MOVES), size * size))
    for cell in range(size * size):
        row, column = divmod(cell, size)
        for move, (down, right) in enumerate(MOVES):
            reached = np.clip(row + down, 0, size - 1) * size + np.clip(column + right, 0, size - 1)
            transition_SAZ[cell, :, reached] += slip / len(MOVES)
            transition_SAZ[cell, move, reached] += 1 - slip
    return transition_SAZ


def _distance(size: int, cell: int) -> np.ndarray:
    """Moves from every cell to a cell, as [S]."""
    rows, columns = np.divmod(np.arange(size * size), size)
    row, column = divmod(cell, size)
    return np.asarray(np.abs(rows - row) + np.abs(columns - column), np.float64)
