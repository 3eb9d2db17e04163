"""Epsilon-greedy Dirichlet actions over latent states, as a judge of candidate steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Trajectory
from handaxe.ops.seeds import generator
from handaxe.papers.ctrls.spectral_steps import StepStates

__all__ = ["LatentActions", "LatentStep", "draw_action"]


def draw_action(
    alpha_K: np.ndarray, *, epsilon: float, rng: np.random.Generator, sample: bool = False
) -> tuple[np.ndarray, bool]:
    """Draw an action, a distribution over next latent states.

        a ~ Dir(1, ..., 1)                  with probability epsilon
        a ~ Dir(alpha)                      else with `sample`
        a = alpha / sum alpha               else

    Args:
        alpha_K: concentrations in the current state, > 0.
        epsilon: probability of exploration, 0 to 1.
        rng: source of randomness.
        sample: draw from the policy, for reinforcement.

    Returns:
        [K] probabilities, and True for a random action.

    Raises:
        InputError: epsilon out of range, or a concentration that is not positive.

    Example:
        4 states, epsilon 0.1: the state with the greatest alpha has the greatest probability in a share of
        0.9 + 0.1 / 4 = 0.925 of the actions

    Paper: arXiv:2507.08182 (CTRLS), epsilon-greedy exploration of Dirichlet actions.
    Unconfirmed: the random distribution, and epsilon.
    Differs: nothing known.
    """
    alpha_K = np.asarray(alpha_K, np.float64)
    if not 0 <= epsilon <= 1 or alpha_K.ndim != 1 or not (alpha_K > 0).all():
        raise InputError(f"epsilon {epsilon} and concentrations {alpha_K}: give epsilon 0 to 1, and numbers above 0")
    if rng.random() < epsilon:
        return rng.dirichlet(np.ones(len(alpha_K))), True
    if sample:
        return rng.dirichlet(alpha_K), False
    return alpha_K / alpha_K.sum(), False


class LatentStep(NamedTuple):
    """State before a turn (the number of states before the first turn), action, random or not, and state reached."""

    row: int
    action_K: np.ndarray
    explored: bool
    state: int


class LatentActions:
    """Judge of steps by the probability of their latent state under the action in the state before.

        score of turn k = a_k[s_k],   a_k = draw_action(alpha[s_{k-1}])        random by seed of the rollout and k

    Candidates of a turn are judged by the same action. With `best_step`, the candidate whose state has the greatest
    probability is kept.

    Args:
        states: fitted latent states.
        alpha_RK: [K + 1, K] concentrations; the last row is for the first turn.
        epsilon, sample: as in `draw_action`.

    Raises:
        InputError: a shape that does not fit the states, or as `draw_action`.

    Example:
        a = (0.7, 0.2, 0.1) and candidates in states 2, 1, 1  ->  scores 0.1, 0.2, 0.2: the second is kept

    Paper: arXiv:2507.08182 (CTRLS), decoding conditioned on the next latent state.
    Unconfirmed: the adapter by which the state conditions the language model.
    Differs: a choice among sampled steps replaces the adapter.
    """

    def __init__(self, states: StepStates, alpha_RK: np.ndarray, *, epsilon: float = 0.0, sample: bool = False):
        if np.shape(alpha_RK) != (states.count + 1, states.count):
            raise InputError(
                f"concentrations {np.shape(alpha_RK)} of {states.count} states: give a row more than states"
            )
        self._states = states
        self._alpha_RK = alpha_RK
        self._epsilon = epsilon
        self._sample = sample

    def steps(self, one: Trajectory) -> list[LatentStep]:
        """Latent step of each turn."""
        found: list[LatentStep] = []
        row = self._states.count
        for k, state in enumerate(self._states.states(one)):
            rng = generator("latent action", one.seed, k)
            action_K, explored = draw_action(self._alpha_RK[row], epsilon=self._epsilon, rng=rng, sample=self._sample)
            found.append(LatentStep(row, action_K, explored, int(state)))
            row = int(state)
        return found

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        own = [[float(step.action_K[step.state]) for step in self.steps(one)] for one in group]
        return tuple(np.array(row, np.float64) for row in own)
