"""Exact return of a softmax policy, differentiable in logits, reward and discount."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.deferred import torch

if TYPE_CHECKING:
    from torch import Tensor

    from handaxe.ops.finite_mdp import FiniteMdp

__all__ = ["soft_return"]


def soft_return(
    mdp: FiniteMdp, logits_SA: Tensor, reward_SA: Tensor, *, discount: Tensor | float, entropy: float = 0.0
) -> Tensor:
    """Compute the expected discounted return of a softmax policy, with a bonus for entropy.

        J = start (I - discount P_pi)^-1 sum_a pi(a|s) (r(s, a) - entropy log pi(a|s))

    Args:
        mdp: transitions and start; the discount of the process is not used.
        logits_SA: of the policy, float64.
        reward_SA: expected rewards.
        discount: of the return, in [0, 1).
        entropy: weight of the bonus, lambda_theta of the paper, >= 0.

    Returns:
        A scalar tensor.

    Example:
        one state, two arms with rewards 1 and 0, logits 0, discount 0.5  ->  0.5 / 0.5 = 1; with entropy 1 -> 1 +
        2 log 2 = 2.3863

    Paper: arXiv:2310.19007 (BARFI), inner objective of the policy; the outer has the primary reward and entropy 0.
    Unconfirmed: the form of the entropy bonus.
    Differs: exact expectations replace sampled off-policy returns.
    """
    transition_SAZ = torch.from_numpy(mdp.transition_SAZ)
    log_SA = torch.log_softmax(logits_SA, -1)
    policy_SA = log_SA.exp()
    moves_SZ = torch.einsum("sa,saz->sz", policy_SA, transition_SAZ)
    earned_S = (policy_SA * (reward_SA - entropy * log_SA)).sum(-1)
    value_S = torch.linalg.solve(torch.eye(len(earned_S), dtype=torch.float64) - discount * moves_SZ, earned_S)
    return torch.from_numpy(mdp.start_S) @ value_S
