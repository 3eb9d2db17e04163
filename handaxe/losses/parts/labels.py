"""Labels of read places, for losses that fit a head to numbers.

Legend: K labels.

Idea: labels as named tensors of the batch, NaN where unknown, so that micro-batches keep them.

Example:
    label/score 3 and NaN at two places: labels 3 and 0, known True and False
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handaxe.core.batch import Batch, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.losses.parts.rollout_scores import head_scores
from handaxe.ops.masked import masked

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["LABEL", "labelled_scores"]

LABEL = "label/"
"""Prefix of a label in `Batch.extras`: a [B, T] tensor, NaN where unknown."""


def labelled_scores(
    out: PolicyOut, batch: Batch, head: str, labels: Sequence[str], *, per_label: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores, labels and known places: [B, T, K * per_label], [B, T, K] and bool [B, T, K].

    Scores are 0 off the mask, labels are 0 where unknown, and nothing is known off the mask.

    Raises:
        InputError: no such head, a head of another number of outputs, or a label that the batch lacks.
    """
    score_BTK = masked(head_scores(out, head), batch.mask_BT[..., None])
    if score_BTK.shape[-1] != len(labels) * per_label:
        raise InputError(
            f"the head {head!r} has {score_BTK.shape[-1]} outputs, and the labels {', '.join(labels)} need "
            f"{len(labels) * per_label}"
        )
    if missing := [name for name in labels if LABEL + name not in batch.extras]:
        there = ", ".join(name.removeprefix(LABEL) for name in batch.extras if name.startswith(LABEL)) or "none"
        raise InputError(f"the batch has no label {', '.join(missing)}; it has {there}")
    label_BTK = torch.stack([batch.extras[LABEL + name] for name in labels], dim=-1).to(score_BTK.dtype)
    known_BTK = batch.mask_BT[..., None] & ~label_BTK.isnan()
    return score_BTK, label_BTK.where(known_BTK, 0.0), known_BTK
