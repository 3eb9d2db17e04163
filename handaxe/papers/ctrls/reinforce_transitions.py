"""Reinforcement of Dirichlet transitions by outcomes, with an entropy bonus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.papers.ctrls.latent_actions import LatentStep

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["reinforce_transitions", "transition_loss"]

SMALLEST = 1e-9


def transition_loss(
    log_alpha_RK: Tensor, row_N: Tensor, action_NK: Tensor, adv_N: Tensor, *, entropy: float = 0.01
) -> Tensor:
    """Compute the policy-gradient loss of Dirichlet actions.

        loss = - mean_n [ A_n log Dir(a_n; alpha[r_n]) + entropy H(Dir(alpha[r_n])) ]

    Args:
        log_alpha_RK: log concentrations, the parameters.
        row_N: state before each step.
        action_NK: executed actions; entries below 1e-9 count as 1e-9.
        adv_N: advantages of the rollouts.
        entropy: weight of the differential entropy.

    Returns:
        A scalar.

    Example:
        alpha (2, 1), a = (0.5, 0.5), A = 1, entropy 0: density 2 * 0.5 = 1  ->  loss -log 1 = 0

    Paper: arXiv:2507.08182 (CTRLS), on-policy reinforcement of transitions with entropy regularization.
    Unconfirmed: the estimator, and the weight of the entropy.
    Differs: random actions have no importance weight.
    """
    floor_NK = action_NK.clamp_min(SMALLEST)
    law = torch.distributions.Dirichlet(log_alpha_RK.exp()[row_N])
    return -(adv_N * law.log_prob(floor_NK / floor_NK.sum(-1, keepdim=True)) + entropy * law.entropy()).mean()


def reinforce_transitions(
    alpha_RK: np.ndarray,
    rollouts: Sequence[tuple[Sequence[LatentStep], float]],
    *,
    entropy: float = 0.01,
    rate: float = 0.1,
    updates: int = 5,
    largest: float = 1000.0,
) -> np.ndarray:
    """Update concentrations by Adam on `transition_loss`; the language model is unchanged.

    Args:
        alpha_RK: concentrations that drew the actions.
        rollouts: latent steps and advantage of each rollout.
        entropy: weight of the entropy.
        rate: learning rate on log concentrations.
        updates: steps of Adam.
        largest: limit of a concentration; its inverse is the least.

    Returns:
        [K + 1, K] float64; without a step with an advantage, the given concentrations.

    Raises:
        InputError: rate or updates that are not positive, or an entropy below 0.

    Example:
        an action (0.9, 0.1) with advantage 1 raises the probability of state 0

    Paper: arXiv:2507.08182 (CTRLS), reinforcement with the language model frozen.
    Unconfirmed: optimizer and learning rate.
    Differs: nothing known.
    """
    if rate <= 0 or updates < 1 or entropy < 0:
        raise InputError(
            f"rate {rate}, {updates} updates, entropy {entropy}: give a positive rate, 1 update up, entropy 0 up"
        )
    taken = [(step, adv) for steps, adv in rollouts for step in steps]
    if not any(adv for _, adv in taken):
        return np.array(alpha_RK, np.float64)
    row_N = torch.tensor([step.row for step, _ in taken])
    action_NK = torch.as_tensor(np.stack([step.action_K for step, _ in taken]))
    adv_N = torch.tensor([adv for _, adv in taken], dtype=torch.float64)
    log_alpha_RK = torch.tensor(np.log(alpha_RK), dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([log_alpha_RK], lr=rate)
    for _ in range(updates):
        adam.zero_grad()
        torch.autograd.backward([transition_loss(log_alpha_RK, row_N, action_NK, adv_N, entropy=entropy)])
        adam.step()
        with torch.no_grad():
            log_alpha_RK.clamp_(-math.log(largest), math.log(largest))
    found: np.ndarray = log_alpha_RK.detach().exp().numpy()
    return found
