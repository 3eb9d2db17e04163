"""Likelihood of a ranking of rollouts.

Kept: a loss of reward models, for users and papers.
"""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.losses.parts.components import extra
from handaxe.losses.parts.rollout_scores import head_scores, rollout_mean
from handaxe.losses.parts.token_metrics import floats

__all__ = ["plackett_luce"]


def plackett_luce(*, head: str = "reward") -> Loss:
    """Score the rollouts of each group in the order of their ranks.

        L = mean over groups of -sum_i (r_(i) - ln sum_{j >= i} exp r_(j)),   r_(1) the score of the best rollout

    The ranking of n rollouts as n - 1 choices of the best of the rest. `batch.extras["rank"]` has a rollout's rank at
    its trained tokens, lower is better; equal ranks keep the order of the rollouts. A group stays in one micro-batch.

    Args:
        head: name of the head, with one output.

    Returns:
        A loss with metrics loss and first (share of groups with the greatest score at the best rank).

    Raises:
        InputError: the engine has no such head, it has several outputs, or the batch has no ranks.

    Example:
        scores 2, 1, 0 in this order: (ln(e^2 + e + 1) - 2) + (ln(e + 1) - 1) = 0.40761 + 0.31326 = 0.72087

    Idea: Plackett and Luce; for two rollouts it is `bradley_terry`.
    Differs: nothing.
    """

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        if (count := head_scores(out, head).shape[-1]) != 1:
            raise InputError(f"plackett_luce ranks by one score, and the head {head!r} has {count} outputs")
        score_R1, rollout_R = rollout_mean(head_scores(out, head), batch)
        score_R, rank_R = score_R1[:, 0], rollout_mean(extra(batch, "rank").to(score_R1.dtype), batch)[0][:, 0]
        group_of = {int(r): int(g) for r, g in zip(batch.rollout_B, batch.group_B, strict=True)}
        group_R = torch.tensor([group_of[int(one)] for one in rollout_R], device=score_R.device)
        groups = max(batch.denominators.groups, 1.0)
        value, first = score_R.sum() * 0, 0.0
        for group in group_R.unique():
            own_S = score_R[group_R == group][rank_R[group_R == group].argsort(stable=True)]
            rest_S = own_S.flip(0).logcumsumexp(0).flip(0)
            value = value + (rest_S - own_S).sum() / groups
            first += float(own_S.argmax() == 0) / groups
        return LossOut(value, floats({"loss": value}) | {"first": first})

    return loss
