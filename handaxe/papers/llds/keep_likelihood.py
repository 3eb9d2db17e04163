"""Keep what was good as likely as it was."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.errors import InputError
from handaxe.losses.parts.metrics import floats
from handaxe.losses.parts.pieces import Term, check_whole_rollouts, sum_over_rollout, sum_over_turn
from handaxe.ops.masked import masked

__all__ = ["keep_likelihood"]


def keep_likelihood(
    *, coefficient: float = 0.2, last: float | None = None, gate: Literal["turn", "rollout"] = "turn"
) -> Term:
    """Penalise turns that were no worse than others and have become less likely since they were sampled.

        d_t = old_t - logp_t                                at trained tokens with A_t >= 0, 0 at others
        L   = (1 / n) sum_t c_t g_t max(0, d_t)             n: all trained tokens of the optimiser step
        g_t = 1 where the sum of d over the turn (or rollout) of t is above 0, else 0

    Tokens that have become likelier add nothing, and a turn that has as a whole is left alone. No gradient flows
    through g. In the first of several optimiser steps on the same rollouts d is 0 and so is L; with a single one a
    training step, this term does nothing.

    Args:
        coefficient: c, lambda, >= 0; 0.2 or 0.1 in the paper. 0 still reports the metrics.
        last: c of the last trained turn of each rollout, its answer, where that is less; 0 regularises no answers,
            which the paper recommends for several searches. None: as the others.
        gate: what has to have become less likely as a whole.

    Returns:
        A term: (PolicyOut, Batch) -> LossOut with the metrics likelihood_drop, L without c, and likelihood_gate, the
        share of trained tokens with g = 1. By rollout, or with `last`, its rows must stay in one micro-batch.

    Raises:
        InputError: a negative coefficient; another gate; when asked, a rollout whose rows are not all here.

    Example:
        A > 0, old -1, -0.5, -0.2, log-probs -1.3, -0.4, -0.2: d 0.3, -0.1, 0, sum 0.2  ->  likelihood_drop 0.3 / 3 =
        0.1, L 0.02; log-probs -1.1, -0.3, -0.2: sum -0.1  ->  0

    Paper: arXiv:2512.04220 (LLDS); gate "turn" is its action level, "rollout" its response level, `last` its LLDS-MA.
    Differs: LLDS-MA finds the answer by its tags; here it is the last turn.
    """
    if coefficient < 0 or (last is not None and last < 0):
        raise InputError(f"keep_likelihood takes coefficients of 0 or more, not {coefficient} and {last}")
    if gate not in ("turn", "rollout"):
        raise InputError(f"keep_likelihood has the gate turn or rollout, not {gate!r}")

    def term(out: PolicyOut, batch: Batch) -> LossOut:
        kept_BT = batch.mask_BT & (batch.adv_BT >= 0)
        moved_BT = masked(batch.old_logp_BT, kept_BT) - masked(out.logp_BT, kept_BT)
        still_BT = moved_BT.detach()
        if gate == "turn":
            whole_BT = sum_over_turn(still_BT, batch)
        else:
            whole_BT = sum_over_rollout(still_BT, batch)[:, None].expand_as(still_BT)
        open_BT = kept_BT & (whole_BT > 0)
        drop_BT = masked(moved_BT.relu(), open_BT) / (batch.denominators.tokens or 1.0)
        share = open_BT.sum().to(drop_BT.dtype) / (batch.denominators.tokens or 1.0)
        metrics = floats({"likelihood_drop": drop_BT.sum(), "likelihood_gate": share})
        if last is None:
            return LossOut(coefficient * drop_BT.sum(), metrics)
        value_BT = torch.where(_in_last_turn(batch), min(last, coefficient) * drop_BT, coefficient * drop_BT)
        return LossOut(value_BT.sum(), metrics)

    return term


def _in_last_turn(batch: Batch) -> Tensor:
    """[B, T] bool: the trained tokens of each rollout's last turn, over all of its rows."""
    check_whole_rollouts(batch)
    turn_BT = torch.where(batch.mask_BT, batch.turn_BT, -1)
    same_BB = batch.rollout_B[:, None] == batch.rollout_B[None, :]
    last_B = torch.where(same_BB, turn_BT.amax(1)[None, :], -1).amax(1)
    return batch.mask_BT & (turn_BT == last_B[:, None])
