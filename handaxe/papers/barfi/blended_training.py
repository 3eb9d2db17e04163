"""Exact policy gradients on a fixed reward, or on a reward and discount that an outer problem learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe.core.deferred import torch
from handaxe.papers.barfi.grid_task import GridTask
from handaxe.papers.barfi.implicit_gradient import implicit_gradient
from handaxe.papers.barfi.soft_return import soft_return

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["BilevelBudget", "Blend", "blended_training", "fixed_training"]


class BilevelBudget(NamedTuple):
    """Sizes of a training.

    updates      of the policy, the same for every reward
    rate         of a policy update
    entropy      lambda_theta
    inner        policy updates between two outer updates
    outer_rate   of Adam, for reward and discount
    penalty      lambda_gamma, of the learned discount
    terms        of the Neumann series
    """

    updates: int = 200
    rate: float = 5.0
    entropy: float = 0.01
    inner: int = 10
    outer_rate: float = 0.1
    penalty: float = 0.01
    terms: int = 5


class Blend(NamedTuple):
    """Learned reward free_SA + primary_S * primary_SA + auxiliary_S * auxiliary_SA, and learned discount."""

    free_SA: np.ndarray
    primary_S: np.ndarray
    auxiliary_S: np.ndarray
    discount: float


def fixed_training(task: GridTask, reward_SA: np.ndarray, budget: BilevelBudget) -> np.ndarray:
    """Train on a fixed reward by exact policy gradients from the uniform policy.

    Args:
        reward_SA: expected rewards.

    Returns:
        [updates] primary returns after each update.

    Example:
        fixed_training(task, task.primary_SA + task.auxiliary_SA, BilevelBudget(updates=200))
    """
    logits_SA = torch.zeros(reward_SA.shape, dtype=torch.float64)
    reward = torch.from_numpy(reward_SA)
    returns = []
    for _ in range(budget.updates):
        logits_SA = _stepped(task, logits_SA, reward, task.mdp.discount, budget)
        returns.append(_primary_return(task, logits_SA).item())
    return np.array(returns)


def blended_training(task: GridTask, budget: BilevelBudget) -> tuple[np.ndarray, Blend]:
    """Train policy, reward and discount in turn: BARFI on an exactly solved process.

        r(s, a) = free(s, a) + primary_weight(s) r_primary(s, a) + auxiliary_weight(s) r_auxiliary(s, a)
        inner:  logits += rate * d/d logits soft_return(logits, r, discount, entropy), `inner` times, warm-started
        outer:  phi, psi <- Adam on primary_return(logits(phi, psi)) - penalty * discount,  discount = sigmoid(psi)

    At first free is 0, both weights are 1, and the discount is the task's: the plain sum of the rewards.

    Returns:
        [updates] primary returns after each policy update, and the learned reward and discount.

    Example:
        returns, blend = blended_training(task, BilevelBudget()); blend.auxiliary_S is near 1 where nothing was learned

    Paper: arXiv:2310.19007 (BARFI), alternation of inner and outer updates.
    Unconfirmed: all sizes, Adam, and the numbers of updates.
    Differs: exact gradients replace estimates from stored trajectories, so that the policy has no critic and no data.
    """
    states, actions = task.primary_SA.shape
    phi = [
        torch.zeros(states, actions, dtype=torch.float64),
        torch.ones(states, dtype=torch.float64),
        torch.ones(states, dtype=torch.float64),
        torch.logit(torch.tensor(task.mdp.discount, dtype=torch.float64)),
    ]
    optimizer = torch.optim.Adam(phi, lr=budget.outer_rate, maximize=True)
    logits_SA = torch.zeros(states, actions, dtype=torch.float64)
    returns = []
    for number in range(1, budget.updates + 1):
        logits_SA = _stepped(task, logits_SA, _blended(task, phi), torch.sigmoid(phi[3]), budget)
        returns.append(_primary_return(task, logits_SA).item())
        if number % budget.inner == 0:
            _outer_step(task, logits_SA, phi, optimizer, budget)
    learned = [one.numpy().copy() for one in phi[:3]]
    return np.array(returns), Blend(learned[0], learned[1], learned[2], torch.sigmoid(phi[3]).item())


def _outer_step(
    task: GridTask, logits_SA: Tensor, phi: Sequence[Tensor], optimizer: torch.optim.Optimizer, budget: BilevelBudget
) -> None:
    def update(logits: Tensor, parameters: Sequence[Tensor]) -> Tensor:
        reward = _blended(task, parameters)
        goal = soft_return(task.mdp, logits, reward, discount=torch.sigmoid(parameters[3]), entropy=budget.entropy)
        return torch.autograd.grad(goal, logits, create_graph=True)[0]

    slopes = implicit_gradient(lambda logits: _primary_return(task, logits), update, logits_SA, phi, terms=budget.terms)
    discount = torch.sigmoid(phi[3])
    slopes[3] = slopes[3] - budget.penalty * discount * (1 - discount)
    for one, slope in zip(phi, slopes, strict=True):
        one.grad = slope
    optimizer.step()


def _blended(task: GridTask, phi: Sequence[Tensor]) -> Tensor:
    primary = phi[1][:, None] * torch.from_numpy(task.primary_SA)
    return phi[0] + primary + phi[2][:, None] * torch.from_numpy(task.auxiliary_SA)


def _stepped(
    task: GridTask, logits_SA: Tensor, reward_SA: Tensor, discount: Tensor | float, budget: BilevelBudget
) -> Tensor:
    """Logits after one ascent step of the inner objective."""
    point = logits_SA.detach().requires_grad_()
    goal = soft_return(task.mdp, point, reward_SA, discount=discount, entropy=budget.entropy)
    return (point + budget.rate * torch.autograd.grad(goal, point)[0]).detach()


def _primary_return(task: GridTask, logits_SA: Tensor) -> Tensor:
    return soft_return(task.mdp, logits_SA, torch.from_numpy(task.primary_SA), discount=task.mdp.discount)
