"""Requests to measure ids as a batch, and the numbers of the batch as answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

from handaxe.core.batch import Batch, Denominators
from handaxe.core.errors import InputError
from handaxe.core.requests import Measure

__all__ = ["bare_batch", "measured"]


class _Forward(Protocol):
    """`forward` of an engine: a [B, T] tensor for each name."""

    def __call__(self, batch: Batch, *, reference: bool = ..., names: Sequence[str] = ...) -> Mapping[str, Tensor]: ...


def measured(
    requests: Sequence[Measure], forward: _Forward, *, pad_id: int, max_length: int
) -> list[dict[str, list[float]]]:
    """Answer requests, those that ask alike in one batch.

    Args:
        requests: any number.
        forward: of the engine.
        pad_id: fills rows up to the longest.
        max_length: most ids of a request.

    Returns:
        One answer a request, in order.

    Raises:
        InputError: for ids that do not fit the context, a start before which nothing stands or after which nothing
            does, a temperature that is not above 0, or a value, which is not there to be asked for.
    """
    if any("value" in one.names for one in requests):
        raise InputError("a Measure asks for logp, entropy or collision, not value")
    for one in requests:
        if not 1 <= one.start < len(one.ids) or len(one.ids) > max_length or not one.temperature > 0:
            raise InputError(
                f"cannot measure {len(one.ids)} ids from {one.start} on at temperature {one.temperature}: give at most "
                f"{max_length} ids, a start from 1 to before the last, and a temperature above 0"
            )
    answers = list[dict[str, list[float]]](dict[str, list[float]]() for _ in requests)
    for reference, names in dict.fromkeys((one.reference, one.names) for one in requests):
        alike = [i for i, one in enumerate(requests) if (one.reference, one.names) == (reference, names)]
        found = forward(_batch([requests[i] for i in alike], pad_id), reference=reference, names=names)
        for row, i in enumerate(alike):
            span = slice(requests[i].start, len(requests[i].ids))
            answers[i] = {name: found[name][row, span].tolist() for name in names}
    return answers


def _batch(requests: Sequence[Measure], pad_id: int) -> Batch:
    """A row a request; nothing of it is there to be trained."""
    rows, width = len(requests), max(len(one.ids) for one in requests)
    ids_BT = torch.full((rows, width), pad_id)
    attend_BT, mask_BT = torch.zeros(rows, width, dtype=torch.bool), torch.zeros(rows, width, dtype=torch.bool)
    for row, one in enumerate(requests):
        ids_BT[row, : len(one.ids)] = torch.tensor(list(one.ids))
        attend_BT[row, : len(one.ids)] = True
        mask_BT[row, one.start : len(one.ids)] = True
    return bare_batch(ids_BT, attend_BT, mask_BT, torch.tensor([one.temperature for one in requests]))


def bare_batch(ids_BT: Tensor, attend_BT: Tensor, mask_BT: Tensor, temperature_B: Tensor) -> Batch:
    """Rows that are only read: all else that a batch holds is 0."""
    zeros_BT, number_B = torch.zeros(ids_BT.shape), torch.arange(len(ids_BT))
    return Batch(
        ids_BT=ids_BT,
        attend_BT=attend_BT,
        mask_BT=mask_BT,
        adv_BT=zeros_BT,
        old_logp_BT=zeros_BT,
        behaviour_logp_BT=zeros_BT,
        turn_BT=torch.where(mask_BT, 0, -1),
        group_B=number_B,
        rollout_B=number_B,
        rollout_tokens_B=mask_BT.sum(1).float(),
        rollout_turns_B=torch.ones(len(ids_BT)),
        temperature_B=temperature_B,
        denominators=Denominators(0.0, 0.0, 0.0, 0.0, 0.0),
    )
