"""Tabular training methods: Q-learning, optimistic Q-learning, SARSA and Monte-Carlo control."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed
from handaxe.papers.underspecified_tasks.frozen_lakes import ACTIONS, Lake

__all__ = ["METHODS", "train_tabular"]

METHODS = ("q_learning", "optimistic", "sarsa", "monte_carlo")
DISCOUNT = 0.99
RATE = 0.1
EPSILON = 0.1
Values = list[list[float]]
Step = tuple[int, int, float, int, bool]


def train_tabular(lake: Lake, method: str, *, steps: int, seed: int) -> np.ndarray:
    """Train a policy on one lake.

        q_learning    Q(s, a) += 0.1 (r + 0.99 max_b Q(s', b) - Q(s, a))
        optimistic    the same, with Q = 1 at the start
        sarsa         Q(s, a) += 0.1 (r + 0.99 Q(s', a') - Q(s, a))
        monte_carlo   Q(s, a) += 0.1 (return - Q(s, a)) after an episode

    Exploration is epsilon-greedy with epsilon 0.1, and ties are drawn. The reward is 1 at the goal. Q of a final state
    is 0.

    Args:
        lake: of S states.
        method: one of METHODS.
        steps: of the lake, 1 or more; the same budget for every method.
        seed: of the lake and of exploration.

    Returns:
        Greedy actions [S].

    Raises:
        InputError: an unknown method.

    Idea: methods of equal cost with different weaknesses have different rankings on the members of a family.

    Example:
        train_tabular(frozen_lake(4, 100), "q_learning", steps=20_000, seed=0) reaches the goal
    """
    if method not in METHODS:
        raise InputError(f"training methods are {', '.join(METHODS)}, not {method!r}")
    value_SA = [[float(method == "optimistic")] * ACTIONS for _ in lake.next_SA]
    rng = random.Random(derive_seed("tabular", method, seed))
    update = _update_episode if method == "monte_carlo" else _update_sarsa if method == "sarsa" else _update_max
    update(value_SA, islice(_walk(lake, value_SA, rng), steps))
    return np.array([int(np.argmax(row)) for row in value_SA])


def _walk(lake: Lake, value_SA: Values, rng: random.Random) -> Iterator[tuple[Step, int]]:
    """Endless episodes: steps (state, action, reward, next state, end), with the next action."""
    while True:
        state = 0
        action = _act(value_SA[state], rng)
        for left in range(lake.steps, 0, -1):
            place = _draw(lake.next_SA[state][action], rng)
            final = bool(lake.final_S[place])
            following = _act(value_SA[place], rng)
            yield (state, action, float(lake.goal_S[place]), place, final or left == 1), following
            if final:
                break
            state, action = place, following


def _act(value_A: list[float], rng: random.Random) -> int:
    if rng.random() < EPSILON:
        return rng.randrange(ACTIONS)
    best = max(value_A)
    return rng.choice([action for action, value in enumerate(value_A) if value == best])


def _draw(places: list[tuple[float, int]], rng: random.Random) -> int:
    drawn = rng.random()
    for chance, place in places:
        drawn -= chance
        if drawn < 0:
            return place
    return places[-1][1]


Update = Callable[[Values, Iterator[tuple[Step, int]]], None]


def _update_max(value_SA: Values, walk: Iterator[tuple[Step, int]]) -> None:
    for (state, action, reward, place, end), _ in walk:
        target = reward + (0.0 if end else DISCOUNT * max(value_SA[place]))
        value_SA[state][action] += RATE * (target - value_SA[state][action])


def _update_sarsa(value_SA: Values, walk: Iterator[tuple[Step, int]]) -> None:
    for (state, action, reward, place, end), following in walk:
        target = reward + (0.0 if end else DISCOUNT * value_SA[place][following])
        value_SA[state][action] += RATE * (target - value_SA[state][action])


def _update_episode(value_SA: Values, walk: Iterator[tuple[Step, int]]) -> None:
    episode: list[Step] = []
    for step, _ in walk:
        episode.append(step)
        if not step[4]:
            continue
        gain = 0.0
        for state, action, reward, _, _ in reversed(episode):
            gain = reward + DISCOUNT * gain
            value_SA[state][action] += RATE * (gain - value_SA[state][action])
        episode = []
