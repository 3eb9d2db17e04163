"""Training of agents that design rewards: an intrinsic reward by the gradient of the true return, and a count bonus."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
import scipy  # scipy.special takes a while: imported on use

from handaxe.core.errors import InputError
from handaxe.papers.reward_design.episode_gradients import (
    Episodes,
    intrinsic_gradient,
    reinforce_gradient,
    state_sums,
    visit_bonus,
)
from handaxe.papers.reward_design.navigation import Navigation
from handaxe.papers.reward_design.q_learning import drawn_states, true_returns

__all__ = ["SelfDesign", "self_designed_training"]


class SelfDesign(NamedTuple):
    """Sizes of the training.

    rate                          of the policy
    intrinsic_rate, critic_rate   of the intrinsic reward, and of the critic of true returns
    bonus, most                   lambda of the count bonus, and its largest value
    episodes                      of a run
    policy_every, policy_buffer   episodes between updates of the policy, and latest episodes of an update
    reward_every, reward_buffer   likewise, of intrinsic reward and critic
    evaluate_every                episodes between evaluations
    """

    rate: float = 1.0
    intrinsic_rate: float = 0.01
    critic_rate: float = 0.01
    bonus: float = 1.0
    most: float = 1.0
    episodes: int = 2000
    policy_every: int = 2
    policy_buffer: int = 5
    reward_every: int = 5
    reward_buffer: int = 10
    evaluate_every: int = 20


def self_designed_training(
    navigation: Navigation,
    rng: np.random.Generator,
    *,
    learns_N: np.ndarray,
    explores_N: np.ndarray,
    design: SelfDesign,
) -> np.ndarray:
    """Train softmax policies by REINFORCE on a reward that each agent designs, in several independent runs at once.

        R(s, a, s') = true reward + learns phi(s, a) + explores B(s')         B is 0 in the absorbing state

    Args:
        navigation: process, true rewards and horizon.
        rng: of actions and transitions.
        learns_N: agents with an intrinsic reward.
        explores_N: agents with a count bonus.
        design: sizes.

    Returns:
        [N, episodes / evaluate_every] exact true returns of the policies, discounted and without a horizon.

    Raises:
        InputError: sizes or rates that are not above 0, or unequal numbers of agents.

    Example:
        both = np.ones(16, bool)
        self_designed_training(chain(), rng, learns_N=both, explores_N=both, design=SelfDesign()).shape  ->  (16, 100)

    Paper: Devidze et al., NeurIPS 2022 (EXPLORS), the alternation of policy and reward updates; in line with the
        released code: rates, buffers, and updates every 2 and every 5 episodes.
    Differs: the rate of the policy is 1 instead of 0.1, since runs have fewer episodes.
    """
    if min(design.episodes, design.evaluate_every) < 1 or not min(design.rate, design.critic_rate) > 0:
        raise InputError(f"the design is {design}; give numbers above 0")
    if learns_N.shape != explores_N.shape or learns_N.ndim != 1 or not len(learns_N):
        raise InputError(f"agents are {learns_N.shape} and {explores_N.shape}; give two lists of equal length")
    agent = _Agent(navigation, learns_N, explores_N, design)
    kept = deque[Episodes](maxlen=design.reward_buffer)
    returns = []
    for number in range(1, design.episodes + 1):
        kept.append(agent.play(rng))
        if number % design.reward_every == 0:
            agent.redesign(_joined(list(kept)))
        if number % design.policy_every == 0:
            agent.improve(_joined(list(kept)[-design.policy_buffer :]))
        if number % design.evaluate_every == 0:
            returns.append(true_returns(navigation, agent.policy_NSA))
    return np.stack(returns, axis=1)


class _Agent:
    """Policies, intrinsic rewards, critics and counts of all runs."""

    def __init__(self, navigation: Navigation, learns_N: np.ndarray, explores_N: np.ndarray, design: SelfDesign):
        runs = len(learns_N)
        shape = (runs, *navigation.reward_SA.shape)
        self._learns_N = learns_N
        self._explores_N = explores_N
        self._navigation = navigation
        self._design = design
        self._cumulative_SAZ = navigation.mdp.transition_SAZ.cumsum(2)
        self._start_NS = navigation.mdp.start_S.cumsum()[None].repeat(runs, 0)
        self._run_N = np.arange(runs)
        self._logits_NSA = np.zeros(shape)
        self._intrinsic_NSA = np.zeros(shape)
        self._visits_NS = np.zeros(shape[:2])
        self._value_NS = np.zeros(shape[:2])
        self.policy_NSA = np.full(shape, 1 / shape[2])

    def play(self, rng: np.random.Generator) -> Episodes:
        """Play one episode in each run."""
        run_N = self._run_N
        end = self._visits_NS.shape[1] - 1
        state_N = drawn_states(rng, self._start_NS)
        columns: list[tuple[np.ndarray, ...]] = []
        for _ in range(self._navigation.horizon):
            chances_NA = self.policy_NSA[run_N, state_N]
            action_N = drawn_states(rng, chances_NA.cumsum(1))
            next_N = drawn_states(rng, self._cumulative_SAZ[state_N, action_N])
            true_N = self._navigation.reward_SA[state_N, action_N]
            own_N = true_N + self._intrinsic_NSA[run_N, state_N, action_N] + self._bonus(run_N, next_N)
            weight_N = (state_N != end).astype(np.float64)
            columns.append((state_N, action_N, weight_N, weight_N * own_N, weight_N * true_N, chances_NA))
            self._visits_NS[run_N, state_N] += weight_N
            state_N = next_N
        state_TN, action_TN, weight_TN, own_TN, true_TN, chances_TNA = (np.stack(one) for one in zip(*columns))
        discount = self._navigation.mdp.discount
        return Episodes(
            state_TN, action_TN, weight_TN, _to_go(own_TN, discount), _to_go(true_TN, discount), chances_TNA
        )

    def redesign(self, found: Episodes) -> None:
        """Update intrinsic reward and critic."""
        rate_N = self._design.intrinsic_rate * self._learns_N
        self._intrinsic_NSA += rate_N[:, None, None] * intrinsic_gradient(found, self._value_NS)
        error_TN = found.weight_TN * (found.true_TN - self._value_NS[self._run_N, found.state_TN])
        moved_NS = state_sums(found, error_TN[:, :, None], self._value_NS.shape[1])[:, :, 0]
        self._value_NS += self._design.critic_rate * moved_NS / np.maximum(found.weight_TN.sum(0), 1.0)[:, None]

    def improve(self, found: Episodes) -> None:
        """Update the policy."""
        self._logits_NSA += self._design.rate * reinforce_gradient(found, self.policy_NSA)
        self.policy_NSA = scipy.special.softmax(self._logits_NSA, axis=2)

    def _bonus(self, run_N: np.ndarray, next_N: np.ndarray) -> np.ndarray:
        found_N = visit_bonus(self._visits_NS[run_N, next_N], bonus=self._design.bonus, most=self._design.most)
        return np.where(next_N == self._visits_NS.shape[1] - 1, 0.0, self._explores_N * found_N)


def _to_go(reward_TN: np.ndarray, discount: float) -> np.ndarray:
    """Discounted sums of the rewards from each step on."""
    found_TN = np.zeros_like(reward_TN)
    total_N = np.zeros(reward_TN.shape[1])
    for step in range(len(reward_TN) - 1, -1, -1):
        total_N = reward_TN[step] + discount * total_N
        found_TN[step] = total_N
    return found_TN


def _joined(kept: list[Episodes]) -> Episodes:
    return Episodes(*(np.concatenate(parts) for parts in zip(*kept)))
