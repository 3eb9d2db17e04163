"""Figures of the study: arms with paired differences, and the fit of the transitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from handaxe.ops.stats import interval_figures
from handaxe.papers.ctrls.dirichlet_transitions import mean_log_likelihood, transition_bound, transition_counts
from handaxe.papers.ctrls.latent_actions import LatentActions
from handaxe.papers.ctrls.path_figures import path_figures
from handaxe.papers.ctrls.spectral_steps import StepStates
from handaxe.rollouts.search.play_search import Played
from handaxe.worlds.world import World

__all__ = [
    "arm_columns",
    "bound_gain",
    "correct_paths",
    "mean_change",
    "mean_figures",
    "transition_gain",
    "turn_shares",
]


def correct_paths(world: World, encoder: StepStates, found: Sequence[Played]) -> list[np.ndarray]:
    """States of the correct rollouts.

    Idea: transitions are fitted to correct rollouts, as notes on arXiv:2507.08182 state.

    Example:
        two rollouts of 3 turns, of which the first is correct  ->  such as [[0, 2, 3]]
    """
    right = [
        (one, outcome > 0.5)
        for own in found
        for one, outcome in zip(own.group, world.correct(own.group).outcome, strict=True)
    ]
    return [encoder.states(one) for one, correct in right if correct]


def arm_columns(world: World, arms: Mapping[str, Sequence[Played]], seeds: int) -> dict[str, np.ndarray]:
    """[seeds] figures of arms, and their paired differences.

    Idea: arms with equal seeds and tasks are compared in pairs.

    Example:
        paths 2.0 of explore and 1.6 of exploit  ->  "gain/paths" 0.4
    """
    columns: dict[str, np.ndarray] = {}
    for name, found in arms.items():
        rows = [path_figures(world, one.group) for one in found]
        for key in rows[0]:
            columns[f"{key}/{name}"] = np.array([row[key] for row in rows]).reshape(seeds, -1).mean(axis=1)
    columns["gain/paths"] = columns["paths/explore"] - columns["paths/exploit"]
    columns["gain/accuracy"] = columns["accuracy/explore"] - columns["accuracy/exploit"]
    columns["gain/plain"] = columns["solved/explore"] - columns["solved/plain"]
    columns["gain/plain_paths"] = columns["paths/explore"] - columns["paths/plain"]
    columns["gain/reinforced"] = columns["accuracy/exploit"] - columns["accuracy/fitted"]
    return columns


def transition_gain(
    world: World, encoder: StepStates, alpha_RK: np.ndarray, found: Sequence[Played], seeds: int, *, prior: float
) -> np.ndarray:
    """[seeds] mean held-out log-likelihood of transitions of correct rollouts less that of frequencies of states.

    Seeds without a correct rollout are left out.

    Idea: the state before must tell something on the next one for transitions to guide steps.

    Example:
        -0.9 nats by transitions, -1.9 by frequencies  ->  1.0
    """
    frequency_RK = np.broadcast_to((alpha_RK - prior).sum(axis=0) + prior, alpha_RK.shape)
    size = len(found) // seeds
    gains: list[float] = []
    for k in range(0, size * seeds, size):
        count_RK = transition_counts(correct_paths(world, encoder, found[k : k + size]), encoder.count)
        if count_RK.any():
            gains.append(mean_log_likelihood(alpha_RK, count_RK) - mean_log_likelihood(frequency_RK, count_RK))
    return np.array(gains)


def bound_gain(count_RK: np.ndarray, *, prior: float) -> float:
    """Evidence lower bound of the fit less that of the prior, nats a transition.

    Idea: shows that transitions were fitted.

    Example:
        transitions (1, 0) and prior 1: -0.6931 + 1 = 0.3069
    """
    prior_RK = np.full(count_RK.shape, prior)
    fitted = transition_bound(prior_RK + count_RK, count_RK, prior=prior)
    return (fitted - transition_bound(prior_RK, count_RK, prior=prior)) / max(1.0, float(count_RK.sum()))


def mean_change(before_RK: np.ndarray, after_RK: np.ndarray) -> float:
    """Mean over rows of the sum of absolute changes of transition probabilities.

    Idea: shows that reinforcement acts.

    Example:
        concentrations (1, 1) and (3, 1): |0.75 - 0.5| + |0.25 - 0.5| = 0.5
    """
    before_RK = before_RK / before_RK.sum(axis=1, keepdims=True)
    after_RK = after_RK / after_RK.sum(axis=1, keepdims=True)
    return float(np.abs(after_RK - before_RK).sum(axis=1).mean())


def turn_shares(judge: LatentActions, found: Sequence[Played]) -> dict[str, float]:
    """Share of turns with a random action, and of turns with candidates in several states.

    Idea: an action decides nothing if all candidates are in one state.

    Example:
        scores (0.2, 0.2) and (0.2, 0.7) of two turns  ->  choice 0.5
    """
    random = [step.explored for own in found for one in own.group for step in judge.steps(one)]
    scores = [turn for own in found for one in own.group for turn in one.notes.get("chosen", {}).values()]
    return {
        "explored": float(np.mean(random)) if random else 0.0,
        "choice": float(np.mean([len(set(turn)) > 1 for turn in scores])) if scores else 0.0,
    }


def mean_figures(columns: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Means with 95 % intervals, /low and /high.

    Idea: seeds are the unit of independence.

    Example:
        1, 2, 3  ->  2, -0.4841, 4.4841
    """
    figures: dict[str, float] = {}
    for name, values in columns.items():
        figures |= interval_figures(name, values)
    return dict(sorted(figures.items()))
