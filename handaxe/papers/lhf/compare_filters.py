"""Comparison of models that were trained on filtered and on unfiltered learning histories."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator
from handaxe.papers.lhf.dark_room import DarkRoom, Histories, collect_histories
from handaxe.papers.lhf.distillation import context_returns, distill
from handaxe.papers.lhf.history_score import history_score
from handaxe.papers.lhf.retained_histories import retained_histories

__all__ = ["Split", "compare_filters", "data_figures", "draw_split", "filtered"]

NOISE = (0.6, 1.0)
"""Range of the noise of a noisy history."""


class Split(NamedTuple):
    """Pool of histories of the training goals, and held-out goals."""

    pool: Histories
    held_out: np.ndarray


def draw_split(
    room: DarkRoom, *, seed: int, held_out: int = 6, repeats: int = 16, noisy: float = 0.5, episodes: int = 60
) -> Split:
    """Draw goals, and collect histories; a share `noisy` of the histories of each goal has noise.

    Args:
        room: size and horizon.
        seed: of goals, noise and actions.
        held_out: number of goals without histories.
        repeats: histories of a training goal.
        noisy: share of noisy histories.
        episodes: of a history.

    Raises:
        InputError: noisy out of [0, 1], or no goal is left for training or for tests.
    """
    if not 0 <= noisy <= 1 or not 0 < held_out < len(room.goals):
        raise InputError(
            f"draw_split: noisy is {noisy} (0 to 1), held_out {held_out} (1 to {len(room.goals) - 1} of the goals)"
        )
    rng = generator("lhf", seed)
    goals = rng.permutation(room.goals)
    goal_N = np.repeat(goals[held_out:], repeats)
    is_noisy_N = np.tile(np.arange(repeats) < round(noisy * repeats), len(goals) - held_out)
    noise_N = np.where(is_noisy_N, rng.uniform(*NOISE, size=len(goal_N)), 0.0)
    pool = collect_histories(room, goal_N, noise_N, episodes=episodes, rng=rng)
    return Split(pool, goals[:held_out])


def filtered(room: DarkRoom, pool: Histories, *, stability: float, seed: int) -> Histories:
    """Filter a pool: as many histories as in the pool, drawn by the score."""
    score_N = history_score(pool.return_NE, low=0.0, high=float(room.horizon), stability=stability)
    kept = retained_histories(score_N, count=len(score_N), rng=generator("lhf filter", seed))
    return pool.take(kept)


def data_figures(histories: Histories) -> dict[str, float]:
    """Compute the share of noisy histories, the mean return of the last fifth of the episodes, and of all episodes."""
    part = -(-histories.return_NE.shape[1] // 5)
    return {
        "noisy": float((histories.noise_N > 0).mean()),
        "late": float(histories.return_NE[:, -part:].mean()),
        "mean": float(histories.return_NE.mean()),
    }


def compare_filters(
    room: DarkRoom, split: Split, *, steps: int, seed: int, stability: float = 1.0, repeats: int = 16, episodes: int = 6
) -> dict[str, np.ndarray]:
    """Train a model on the pool and one on the filtered pool, with equal seeds, and play the held-out goals.

    Args:
        room: of the split.
        split: pool and held-out goals.
        steps: of training, for both models.
        seed: of weights, batches and actions.
        stability: lambda of the score.
        repeats: rooms of a held-out goal.
        episodes: of a context.

    Returns:
        "all" and "filtered" -> mean return of each episode of the context [episodes].

    Example:
        {"all": [0.2, 0.4, ...], "filtered": [0.3, 0.8, ...]}: the returns rise without an update

    Paper: arXiv:2505.15143 (LHF), algorithm distillation with and without the filter.
    Unconfirmed: the size of the filtered data; here as large as the pool.
    Differs: Darkroom of 5 x 5 cells, contexts of 6 episodes, and one backbone.
    """
    arms = {"all": split.pool, "filtered": filtered(room, split.pool, stability=stability, seed=seed)}
    goals = np.repeat(split.held_out, repeats)
    found = {}
    for name, histories in arms.items():
        model, _ = distill(room, histories, steps=steps, seed=seed, episodes=episodes)
        rng = generator("lhf play", seed)
        found[name] = context_returns(room, model, goals, episodes=episodes, rng=rng).mean(axis=0)
    return found
