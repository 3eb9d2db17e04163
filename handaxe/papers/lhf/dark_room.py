"""Learning histories of tabular Q-learning in Darkroom: a grid with a hidden goal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["ACTIONS", "DarkRoom", "Histories", "collect_histories"]

ACTIONS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
"""Moves in rows and columns: stay, up, down, left, right."""
MOVES = np.array(ACTIONS)


@dataclass(frozen=True)
class DarkRoom:
    """A grid whose goal is not observed; a step pays 1 at the goal.

    The observation is the cell. A move out of the grid has no effect. An episode starts in the middle and lasts
    `horizon` steps.
    """

    size: int = 5
    horizon: int = 8

    @property
    def start(self) -> int:
        return self.size // 2 * self.size + self.size // 2

    @property
    def goals(self) -> np.ndarray:
        """All cells but the start."""
        cells = np.arange(self.size**2)
        return cells[cells != self.start]

    def step(self, cell_N: np.ndarray, action_N: np.ndarray, goal_N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the next cells [N] and rewards [N].

        Example:
            size 5: up from cell 12 is cell 7; reward 1 if the goal is 7
        """
        row_N = np.clip(cell_N // self.size + MOVES[action_N, 0], 0, self.size - 1)
        column_N = np.clip(cell_N % self.size + MOVES[action_N, 1], 0, self.size - 1)
        after_N = row_N * self.size + column_N
        return after_N, (after_N == goal_N).astype(np.float64)


@dataclass(frozen=True)
class Histories:
    """N learning histories of E episodes of T steps.

    goal_N: cells. noise_N: probability of a replaced action. cell_NET: before each step. action_NET, reward_NET.
    """

    goal_N: np.ndarray
    noise_N: np.ndarray
    cell_NET: np.ndarray
    action_NET: np.ndarray
    reward_NET: np.ndarray

    @property
    def return_NE(self) -> np.ndarray:
        """Return of each episode."""
        return self.reward_NET.sum(axis=2)

    def take(self, places: np.ndarray) -> Histories:
        """Select histories, with repetitions."""
        fields = (self.goal_N, self.noise_N, self.cell_NET, self.action_NET, self.reward_NET)
        return Histories(*(one[places] for one in fields))


def collect_histories(
    room: DarkRoom,
    goal_N: np.ndarray,
    noise_N: np.ndarray,
    *,
    episodes: int,
    rng: np.random.Generator,
    rate: float = 0.5,
    discount: float = 0.9,
) -> Histories:
    """Run Q-learning in N rooms, and record every episode.

        Q(s, a) <- Q(s, a) + rate (r + discount max Q(s', .) - Q(s, a))

    The behaviour is epsilon-greedy, with epsilon falling linearly from 1 to 0 over the first half of the episodes. With
    the probability of its noise a history replaces an action by a random one, in every episode.

    Args:
        room: size and horizon.
        goal_N: hidden goals.
        noise_N: in [0, 1]; 1 is a random walk.
        episodes: E of a history, at least 2.
        rng: of actions.
        rate, discount: of Q-learning.

    Raises:
        InputError: fewer than two episodes, noise out of [0, 1], or a goal that is no cell.

    Example:
        noise 0 and 80 episodes: the last returns are horizon - distance + 1; noise 1: all episodes are random

    Paper: arXiv:2505.15143 (LHF), learning histories of a source algorithm in Darkroom, and noisy histories.
    Unconfirmed: the kind of noise.
    Differs: Q-learning in a grid of 5 x 5 cells; the paper has deep source algorithms.
    """
    noise_N = np.asarray(noise_N, np.float64)
    if episodes < 2 or noise_N.min() < 0 or noise_N.max() > 1:
        raise InputError(f"collect_histories: episodes is {episodes} (at least 2); noise must be between 0 and 1")
    if not np.isin(goal_N, np.arange(room.size**2)).all():
        raise InputError(f"collect_histories: goals must be cells from 0 to {room.size**2 - 1}")
    count = len(goal_N)
    every = np.arange(count)
    q_NSA = np.zeros((count, room.size**2, len(ACTIONS)))
    cells = np.zeros((count, episodes, room.horizon), np.int64)
    actions = np.zeros_like(cells)
    rewards = np.zeros(cells.shape)
    for episode in range(episodes):
        epsilon = max(0.0, 1 - 2 * episode / episodes)
        cell_N = np.full(count, room.start)
        for step in range(room.horizon):
            tied_NA = q_NSA[every, cell_N] + 1e-9 * rng.random((count, len(ACTIONS)))
            is_random_N = rng.random(count) < 1 - (1 - epsilon) * (1 - noise_N)
            action_N = np.where(is_random_N, rng.integers(len(ACTIONS), size=count), tied_NA.argmax(axis=1))
            after_N, reward_N = room.step(cell_N, action_N, goal_N)
            cells[:, episode, step] = cell_N
            actions[:, episode, step] = action_N
            rewards[:, episode, step] = reward_N
            target_N = reward_N + discount * q_NSA[every, after_N].max(axis=1)
            q_NSA[every, cell_N, action_N] += rate * (target_N - q_NSA[every, cell_N, action_N])
            cell_N = after_N
    return Histories(np.asarray(goal_N), noise_N, cells, actions, rewards)
