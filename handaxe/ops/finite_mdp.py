"""Exact arithmetic of finite Markov decision processes.

Shapes: S states, A actions, Z next states. Rewards of a transition are [S, A, Z], expected rewards [S, A].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # scipy.special takes a while: imported on use

from handaxe.core.errors import InputError

__all__ = [
    "FiniteMdp",
    "expected_reward",
    "mean_return",
    "optimal_action_values",
    "policy_values",
    "random_mdp",
    "softmax_policy",
]

TOLERANCE = 1e-9
"""Largest deviation of a sum of probabilities from 1."""
MOST_SWEEPS = 1_000_000


@dataclass(frozen=True)
class FiniteMdp:
    """Transitions, distribution of the first state, and discount.

    Args:
        transition_SAZ: probabilities of the next state.
        start_S: probabilities of the first state.
        discount: in [0, 1).

    Raises:
        InputError: wrong shapes, probabilities that do not sum to 1, a discount out of range.

    Example:
        FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.5) is a bandit with two arms, played forever
    """

    transition_SAZ: np.ndarray
    start_S: np.ndarray
    discount: float

    def __post_init__(self) -> None:
        shape = self.transition_SAZ.shape
        states = len(self.start_S)
        if len(shape) != 3 or shape[0] != states or shape[2] != states or not shape[1]:
            raise InputError(f"transitions have shape {shape} and the start {states} states; give [S, A, S] and [S]")
        for name, probability in (("transitions", self.transition_SAZ), ("start", self.start_S)):
            if (probability < 0).any() or not np.allclose(probability.sum(-1), 1.0, rtol=0.0, atol=TOLERANCE):
                raise InputError(f"{name} have rows that are no distribution; give rows >= 0 with sum 1")
        if not 0 <= self.discount < 1:
            raise InputError(f"discount is {self.discount}; give a number from 0 to below 1")


def expected_reward(mdp: FiniteMdp, reward_SAZ: np.ndarray) -> np.ndarray:
    """Average a reward over next states.

        r[s, a] = sum_z P[s, a, z] R[s, a, z]

    Example:
        next states with 0.25 and 0.75, rewards 4 and 0  ->  1
    """
    return np.einsum("saz,saz->sa", mdp.transition_SAZ, reward_SAZ)


def policy_values(mdp: FiniteMdp, policy_SA: np.ndarray, reward_SA: np.ndarray) -> np.ndarray:
    """Compute the discounted value of each state under a policy.

        V = (I - discount P_pi)^-1 r_pi

    Args:
        policy_SA: probabilities of actions.
        reward_SA: expected rewards.

    Returns:
        [S].

    Example:
        one state, reward 1, discount 0.5  ->  2
    """
    moves_SZ = np.einsum("sa,saz->sz", policy_SA, mdp.transition_SAZ)
    earned_S = (policy_SA * reward_SA).sum(1)
    return np.linalg.solve(np.eye(len(moves_SZ)) - mdp.discount * moves_SZ, earned_S)


def mean_return(mdp: FiniteMdp, policy_SA: np.ndarray, reward_SA: np.ndarray) -> float:
    """Compute the expected discounted return of a policy from the first state.

    Example:
        one state, reward 1, discount 0.5  ->  2
    """
    return float(mdp.start_S @ policy_values(mdp, policy_SA, reward_SA))


def optimal_action_values(
    mdp: FiniteMdp, reward_SA: np.ndarray, *, temperature: float = 0.0, tolerance: float = 1e-10
) -> np.ndarray:
    """Compute the action values of the optimal policy by value iteration.

        Q[s, a] = r[s, a] + discount sum_z P[s, a, z] V[z]
        V[s]    = max_a Q[s, a]                              temperature 0
        V[s]    = t log sum_a exp(Q[s, a] / t)               temperature t: return plus t times the policy's entropy

    Args:
        reward_SA: expected rewards.
        temperature: of the entropy bonus, >= 0.
        tolerance: largest error of a value, > 0.

    Returns:
        [S, A].

    Raises:
        InputError: a temperature or tolerance out of range, or a reward that is not finite.

    Example:
        one state, rewards 1 and 0, discount 0.5  ->  2 and 1
    """
    if temperature < 0 or tolerance <= 0 or not np.isfinite(reward_SA).all():
        raise InputError(
            f"temperature is {temperature} and tolerance {tolerance}; give 0 or more, above 0, and finite rewards"
        )
    value_S = np.zeros(len(reward_SA))
    for _ in range(MOST_SWEEPS):
        q_SA = reward_SA + mdp.discount * mdp.transition_SAZ @ value_S
        new_S = q_SA.max(1) if not temperature else temperature * np.logaddexp.reduce(q_SA / temperature, axis=1)
        moved = np.abs(new_S - value_S).max()
        value_S = new_S
        if moved * mdp.discount <= tolerance * (1 - mdp.discount):
            return reward_SA + mdp.discount * mdp.transition_SAZ @ value_S
    raise InputError(f"value iteration did not reach tolerance {tolerance}; give a larger tolerance")


def softmax_policy(q_SA: np.ndarray, *, temperature: float = 0.0) -> np.ndarray:
    """Make the policy of action values: softmax(Q / temperature), or the first maximum for temperature 0.

    Raises:
        InputError: a negative temperature.

    Example:
        Q 1, 1.001 with temperature 0 -> 0, 1; with temperature 0.1 -> 0.4975, 0.5025
    """
    if temperature < 0:
        raise InputError(f"temperature is {temperature}; give 0 or more")
    if not temperature:
        return np.eye(q_SA.shape[1])[q_SA.argmax(1)]
    return np.asarray(scipy.special.softmax(q_SA / temperature, axis=1))


def random_mdp(rng: np.random.Generator, *, states: int, actions: int, discount: float) -> FiniteMdp:
    """Draw transitions of each state and action, and the start, from the flat Dirichlet distribution.

    Raises:
        InputError: no state or no action, a discount out of range.

    Example:
        random_mdp(np.random.default_rng(0), states=4, actions=2, discount=0.9)
    """
    if states < 1 or actions < 1:
        raise InputError(f"states are {states} and actions {actions}; give 1 or more of each")
    transition_SAZ = rng.dirichlet(np.ones(states), size=(states, actions))
    return FiniteMdp(transition_SAZ, rng.dirichlet(np.ones(states)), discount)
