"""Family of frozen lakes of gymnasium: grids of several sizes with several chances that a step goes as chosen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["ACTIONS", "Lake", "frozen_lake", "success_share"]

ACTIONS = 4
STEPS = {4: 100, 8: 200}
"""Time limits of gymnasium by size; other sizes take the limit of the next larger one."""
MAP_SEED = 0
"""Of the maps that gymnasium does not name."""


class Lake(NamedTuple):
    """A lake with S states.

    next_SA: for each state and action, (probability, next state) of each outcome; `P` of gymnasium.
    transition_SAS: probabilities. goal_S, final_S: whether a state is the goal, and whether an episode ends there.
    steps: time limit.
    """

    next_SA: list[list[list[tuple[float, int]]]]
    transition_SAS: np.ndarray
    goal_S: np.ndarray
    final_S: np.ndarray
    steps: int


def frozen_lake(size: int, chosen: int) -> Lake:
    """Create a lake; the start is state 0.

    Args:
        size: side of the grid, 2 to 16; 4 and 8 are the maps of gymnasium, others are drawn by a fixed seed.
        chosen: chance in percent that a step goes in the chosen direction, 1 to 100; the rest is sideways, in equal
            shares.

    Raises:
        InputError: a size or chance out of range, or gymnasium is missing (extra [grid]).

    Example:
        frozen_lake(4, 33) is close to the default of gymnasium, with a chance of one third
    """
    if not 2 <= size <= 16 or not 1 <= chosen <= 100:
        raise InputError(
            f"a frozen lake has a size of 2 to 16 and a chance of 1 to 100 percent, not {size} and {chosen}"
        )
    try:
        from gymnasium.envs.toy_text.frozen_lake import MAPS, FrozenLakeEnv, generate_random_map
    except ImportError as error:
        raise InputError('frozen lakes need gymnasium, which is missing: pip install "handaxe[grid]"') from error
    rows = MAPS.get(f"{size}x{size}") or generate_random_map(size, seed=MAP_SEED)
    env: Any = FrozenLakeEnv(desc=rows, is_slippery=chosen < 100, success_rate=chosen / 100)
    letters = np.array([list(row) for row in rows]).ravel()
    states = size * size
    transition_SAS = np.zeros((states, ACTIONS, states))
    table: list[list[list[tuple[float, int]]]] = [[[] for _ in range(ACTIONS)] for _ in range(states)]
    for state in range(states):
        for action in range(ACTIONS):
            for chance, place, _, _ in env.P[state][action]:
                table[state][action].append((float(chance), int(place)))
                transition_SAS[state, action, place] += chance
    limit = STEPS[min(side for side in STEPS if side >= size)] if size <= max(STEPS) else max(STEPS.values())
    return Lake(table, transition_SAS, letters == "G", np.isin(letters, ("G", "H")), limit)


def success_share(lake: Lake, policy_S: np.ndarray) -> float:
    """Compute the probability that a policy reaches the goal from the start within the time limit.

        p_0 = 1[start];  p_{t+1}(s') = sum_s p_t(s) P(s' | s, pi(s)), final states keep their mass;  J = p_T(goal)

    Args:
        lake: a lake of S states.
        policy_S: action of each state, [S].

    Example:
        a policy that walks along the edge of frozen_lake(2, 100) has 1.0
    """
    moves_SS = lake.transition_SAS[np.arange(len(policy_S)), policy_S]
    moves_SS = np.where(lake.final_S[:, None], np.eye(len(policy_S)), moves_SS)
    mass_S = np.zeros(len(policy_S))
    mass_S[0] = 1.0
    for _ in range(lake.steps):
        mass_S = mass_S @ moves_SS
    return float(mass_S[lake.goal_S].sum())
