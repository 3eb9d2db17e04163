"""Measure requests: batch them, run `forward`, and split the result by request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor

from handaxe.core.batch import Batch, Denominators
from handaxe.core.errors import InputError
from handaxe.core.images import unique_images
from handaxe.core.requests import Measure

__all__ = ["bare_batch", "measure_requests"]


class _Forward(Protocol):
    """`Engine.forward`: a [B, T] tensor for each name."""

    def __call__(self, batch: Batch, *, reference: bool = ..., names: Sequence[str] = ...) -> Mapping[str, Tensor]: ...


def measure_requests(
    requests: Sequence[Measure], forward: _Forward, *, pad_id: int, max_length: int
) -> list[dict[str, list[float]]]:
    """Measure requests, one batch for each combination of model and names.

    Args:
        requests: any number.
        forward: of the engine.
        pad_id: fills rows up to the longest.
        max_length: most ids of a request.

    Returns:
        One dict of lists a request, in order.

    Raises:
        InputError: too many ids for the context, a start outside [1, number of ids), a temperature of 0 or below, or a
            request for "value".
    """
    if any("value" in request.names for request in requests):
        raise InputError("a Measure may request logp, entropy or collision, not value")
    for request in requests:
        if not 1 <= request.start < len(request.ids) or len(request.ids) > max_length or not request.temperature > 0:
            raise InputError(
                f"cannot measure {len(request.ids)} ids from {request.start} on at temperature {request.temperature}: "
                f"give at most {max_length} ids, a start from 1 to before the last, and a temperature above 0"
            )
    answers = list[dict[str, list[float]]](dict[str, list[float]]() for _ in requests)
    for reference, names in dict.fromkeys((request.reference, request.names) for request in requests):
        chosen = [i for i, request in enumerate(requests) if (request.reference, request.names) == (reference, names)]
        measured = forward(_batch([requests[i] for i in chosen], pad_id), reference=reference, names=names)
        for row, i in enumerate(chosen):
            span = slice(requests[i].start, len(requests[i].ids))
            answers[i] = {name: measured[name][row, span].tolist() for name in names}
    return answers


def _batch(requests: Sequence[Measure], pad_id: int) -> Batch:
    """Build a row per request, without advantages."""
    rows, width = len(requests), max(len(request.ids) for request in requests)
    ids_BT = torch.full((rows, width), pad_id)
    attend_BT, mask_BT = torch.zeros(rows, width, dtype=torch.bool), torch.zeros(rows, width, dtype=torch.bool)
    for row, request in enumerate(requests):
        ids_BT[row, : len(request.ids)] = torch.tensor(list(request.ids))
        attend_BT[row, : len(request.ids)] = True
        mask_BT[row, request.start : len(request.ids)] = True
    batch = bare_batch(ids_BT, attend_BT, mask_BT, torch.tensor([request.temperature for request in requests]))
    images = unique_images(image for request in requests for image in request.images)
    return replace(batch, images=images) if images else batch


def bare_batch(ids_BT: Tensor, attend_BT: Tensor, mask_BT: Tensor, temperature_B: Tensor) -> Batch:
    """A batch for measuring only; advantages, old log-probs and denominators are 0."""
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
