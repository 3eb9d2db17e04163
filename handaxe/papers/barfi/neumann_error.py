"""Agreement of the Neumann series with the exact implicit gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import torch
from handaxe.ops.finite_mdp import optimal_action_values, random_mdp
from handaxe.papers.barfi.implicit_gradient import implicit_gradient
from handaxe.papers.barfi.soft_return import soft_return

if TYPE_CHECKING:
    from torch import Tensor

    from handaxe.ops.finite_mdp import FiniteMdp

__all__ = ["exact_gradient_of_reward", "neumann_error", "soft_optimum"]


def neumann_error(seed: int, *, terms: Sequence[int], entropy: float = 0.3, states: int = 4) -> dict[int, float]:
    """Compare both gradients at the inner optimum of a random process, with an inner reward unlike the outer one.

        cosine = <g_N, g> / (|g_N| |g|)       g_N: Neumann series of N terms, g: exact, both with respect to the reward

    Args:
        seed: of process and rewards.
        terms: numbers of terms.
        entropy: weight of the inner bonus for entropy, > 0, so that the optimum is unique.
        states: of the process, which has two actions and discount 0.8.

    Returns:
        Number of terms -> cosine.

    Example:
        neumann_error(0, terms=[0, 1000])  ->  a cosine below 1, and a cosine of 1 to four digits

    Idea: a truncated series is trusted on processes where the exact gradient is known.
    """
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=states, actions=2, discount=0.8)
    outer_SA = torch.from_numpy(rng.normal(size=(states, 2)))
    inner_SA = torch.from_numpy(rng.normal(size=(states, 2)))
    logits_SA = soft_optimum(mdp, inner_SA, entropy=entropy)
    exact = exact_gradient_of_reward(mdp, logits_SA, inner_SA, outer_SA, entropy=entropy)

    def update(logits: Tensor, phi: Sequence[Tensor]) -> Tensor:
        goal = soft_return(mdp, logits, phi[0], discount=mdp.discount, entropy=entropy)
        return torch.autograd.grad(goal, logits, create_graph=True)[0]

    def outer(logits: Tensor) -> Tensor:
        return soft_return(mdp, logits, outer_SA, discount=mdp.discount)

    found = {}
    for count in terms:
        (series,) = implicit_gradient(outer, update, logits_SA, [inner_SA], terms=count)
        found[count] = float(torch.nn.functional.cosine_similarity(series.flatten(), exact.flatten(), dim=0))
    return found


def soft_optimum(mdp: FiniteMdp, reward_SA: Tensor, *, entropy: float) -> Tensor:
    """Compute logits of the policy with the largest return plus entropy, Q / entropy.

    Example:
        one state, rewards 1 and 0, entropy 1  ->  logits that differ by 1
    """
    q_SA = optimal_action_values(mdp, reward_SA.numpy(), temperature=entropy, tolerance=1e-12)
    return torch.from_numpy(q_SA / entropy)


def exact_gradient_of_reward(
    mdp: FiniteMdp, logits_SA: Tensor, inner_SA: Tensor, outer_SA: Tensor, *, entropy: float
) -> Tensor:
    """Compute dJ/d inner_SA = -(dJ/dlogits) H^-1 A with full matrices.

    H is singular in directions that add a number to all logits of a state; the pseudo-inverse leaves these out.

    Returns:
        [S, A].

    Example:
        one state, rewards r of the inner problem, entropy 1, discount 0: dJ/dr[a] = p[a] (R[a] - sum_b p[b] R[b])
    """

    def update(logits: Tensor, reward: Tensor) -> Tensor:
        goal = soft_return(mdp, logits, reward, discount=mdp.discount, entropy=entropy)
        return torch.autograd.grad(goal, logits, create_graph=True)[0]

    point = logits_SA.detach().requires_grad_()
    slope_P = torch.autograd.grad(soft_return(mdp, point, outer_SA, discount=mdp.discount), point)[0].flatten()
    parameters = inner_SA.detach().requires_grad_()
    by_logits, by_reward = torch.autograd.functional.jacobian(update, (point, parameters))
    count = slope_P.numel()
    inverse_PP = torch.linalg.pinv(by_logits.reshape(count, count), rtol=1e-10)
    return -(slope_P @ inverse_PP @ by_reward.reshape(count, count)).reshape(inner_SA.shape)
