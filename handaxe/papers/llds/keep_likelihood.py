"""Loss term that keeps good turns from losing likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Term, check_whole_rollouts, sum_over_rollout, sum_over_turn
from handaxe.losses.parts.token_metrics import floats
from handaxe.ops.masked import masked

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["keep_likelihood"]


def keep_likelihood(
    *, coefficient: float = 0.2, last: float | None = None, gate: Literal["turn", "rollout"] = "turn"
) -> Term:
    """Penalize turns of non-negative advantage that lose likelihood after sampling.

        d_t = old_t - logp_t                                at trained tokens with A_t >= 0, 0 at others
        L   = (1 / n) sum_t c_t g_t max(0, d_t)             n: all trained tokens of the optimizer step
        g_t = 1 if the sum of d over the turn (or rollout) of t is above 0, else 0

    Tokens that gain likelihood add nothing, and a turn that gains as a whole is not penalized. No gradient flows
    through g. In the first of several optimizer steps on the same rollouts d and L are 0; with one optimizer step a
    training step the term has no effect.

    Args:
        coefficient: c, lambda, >= 0; 0.2 or 0.1 in the paper. 0 only reports the metrics.
        last: c of the last trained turn of each rollout, the answer, if it is smaller; 0 spares answers, which the
            paper recommends for several searches. None: `coefficient`.
        gate: the unit that must lose likelihood as a whole, "turn" or "rollout".

    Returns:
        A term: (PolicyOut, Batch) -> LossOut with the metrics likelihood_drop, L without c, and likelihood_gate, the
        share of trained tokens with g = 1. With gate "rollout" or with `last`, all rows of a rollout must be in one
        micro-batch.

    Raises:
        InputError: a negative coefficient; an unknown gate; when called, a rollout with rows in other micro-batches.

    Example:
        A > 0, old -1, -0.5, -0.2, log-probs -1.3, -0.4, -0.2: d 0.3, -0.1, 0, sum 0.2  ->  likelihood_drop 0.3 / 3 =
        0.1, L 0.02; log-probs -1.1, -0.3, -0.2: sum -0.1  ->  0

    Paper: arXiv:2512.04220 (LLDS); gate "turn" is its action level, "rollout" its response level, `last` its LLDS-MA.
    Differs: LLDS-MA finds the answer by its tags; here it is the last turn.
    """
    if coefficient < 0 or (last is not None and last < 0):
        raise InputError(f"keep_likelihood takes coefficients of 0 or more, not {coefficient} and {last}")
    if gate not in ("turn", "rollout"):
        raise InputError(f"the gate of keep_likelihood is turn or rollout, not {gate!r}")

    def term(out: PolicyOut, batch: Batch) -> LossOut:
        good_BT = batch.mask_BT & (batch.adv_BT >= 0)
        drop_BT = masked(batch.old_logp_BT, good_BT) - masked(out.logp_BT, good_BT)
        detached_BT = drop_BT.detach()
        if gate == "turn":
            whole_BT = sum_over_turn(detached_BT, batch)
        else:
            whole_BT = sum_over_rollout(detached_BT, batch)[:, None].expand_as(detached_BT)
        open_BT = good_BT & (whole_BT > 0)
        penalty_BT = masked(drop_BT.relu(), open_BT) / (batch.denominators.tokens or 1.0)
        share = open_BT.sum().to(penalty_BT.dtype) / (batch.denominators.tokens or 1.0)
        metrics = floats({"likelihood_drop": penalty_BT.sum(), "likelihood_gate": share})
        if last is None:
            return LossOut(coefficient * penalty_BT.sum(), metrics)
        value_BT = torch.where(_in_last_turn(batch), min(last, coefficient) * penalty_BT, coefficient * penalty_BT)
        return LossOut(value_BT.sum(), metrics)

    return term


def _in_last_turn(batch: Batch) -> Tensor:
    """[B, T] bool: trained tokens of each rollout's last turn, over all of its rows."""
    check_whole_rollouts(batch)
    turn_BT = torch.where(batch.mask_BT, batch.turn_BT, -1)
    same_BB = batch.rollout_B[:, None] == batch.rollout_B[None, :]
    last_B = torch.where(same_BB, turn_BT.amax(1)[None, :], -1).amax(1)
    return batch.mask_BT & (turn_BT == last_B[:, None])
