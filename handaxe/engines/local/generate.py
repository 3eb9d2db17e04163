"""Static batching: sample a batch of ragged prompts to the end of every row.

Each distinct prompt is read once; ended rows leave the cache. Fallback of `engines.local.continuous_batching` for
models without a slot cache.

Shapes: R requests of a round, B rows in the cache, N new tokens, V vocabulary.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from handaxe.core.images import Image, is_image_id, unique_images
from handaxe.core.model_api import PaddedModel
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.local.sample_requests import make_completion, partial_turn, remaining_uniforms
from handaxe.engines.local.token_sampling import draw, draw_rules, most_likely

__all__ = ["generate"]

COMPACT_BELOW = 0.75
"""Share of live rows below which ended rows are removed from the cache; the copy costs about one decoding step."""


def generate(
    model: PaddedModel, requests: Mapping[int, Sample], *, version: int, max_rows: int, device: torch.device
) -> list[tuple[int, Completion]]:
    """Complete all requests; each completion depends only on the request.

    Requests run in order of prompt, `max_rows` a round, so that siblings share a round and a prompt is read once.
    Sharing a round changes logits by float rounding only. A sampled token changes only if the uniform number lies
    within float rounding of the boundary between two tokens.

    Args:
        model: in evaluation mode.
        requests: by ticket, validated by `engines.local.sample_requests.check_request`. `max_tokens` is limited to the
            room left in the context. A `stop` id is kept and ends the completion with finish "stop", a `header` id with
            "header"; an id in both sets counts as stop.
        version: recorded for every sampled token.
        max_rows: rows in the cache at a time; bounds memory.
        device: of the model.

    Returns:
        (ticket, completion) in the order of the requests. `seconds` runs from the start of the round to the last token
        of the completion.

    Raises:
        TrainingError: the model's logits are not finite.
    """
    prompts = {ticket: [*request.ids, *partial_turn(request).ids] for ticket, request in requests.items()}
    order = sorted(requests, key=lambda ticket: (len(prompts[ticket]), prompts[ticket]))
    done: dict[int, Completion] = {}
    for start in range(0, len(order), max_rows):
        chosen = order[start : start + max_rows]
        drawn = _round(model, [requests[t] for t in chosen], [prompts[t] for t in chosen], device)
        for place, ticket in enumerate(chosen):
            done[ticket] = _completion(ticket, requests[ticket], drawn, place, version)
    return [(ticket, done[ticket]) for ticket in requests]


class _Round(NamedTuple):
    """Sampled tokens of one round: [R, N] arrays, valid up to `length_R`, the time of each step in seconds, and the
    alternatives at each step of the requests with `top`."""

    ids_RN: list[list[int]]
    logp_RN: list[list[float]]
    behaviour_logp_RN: list[list[float]]
    length_R: list[int]
    seconds_N: list[float]
    top_R: list[list[list[tuple[int, float]]]]


@torch.inference_mode()
def _round(
    model: PaddedModel, requests: Sequence[Sample], prompts: Sequence[list[int]], device: torch.device
) -> _Round:
    start_time, seconds_N = time.perf_counter(), []
    numbers = [remaining_uniforms(request, model.max_length) for request in requests]
    shape = (len(requests), max(map(len, numbers)))
    uniform_RN = torch.from_numpy(np.stack([np.pad(each, (0, shape[1] - len(each))) for each in numbers])).to(device)
    prompt_R = torch.tensor([len(prompt) for prompt in prompts], device=device)
    limit_R = torch.tensor([len(each) for each in numbers], device=device)

    logits_BV, cache = _prefill(model, prompts, shape[1], device, _read_images(requests))
    rules_B = draw_rules([request.sampling for request in requests], device)
    ends_UV, ends_R = _endings(requests, logits_BV.shape[1], device)
    row_B = torch.arange(len(requests), device=device)
    ids_RN = torch.zeros(shape, dtype=torch.int64, device=device)
    logp_RN = torch.zeros(shape, dtype=torch.promote_types(logits_BV.dtype, torch.float32), device=device)
    behaviour_logp_RN = torch.zeros_like(logp_RN)
    length_R = torch.zeros_like(row_B)  # 0: not ended
    top_R: list[list[list[tuple[int, float]]]] = [[] for _ in requests]
    any_top = any(request.top for request in requests)
    for step in range(shape[1]):
        drawn = draw(logits_BV, uniform_RN[row_B, step], rules_B)
        for row, place in enumerate(row_B.tolist()) if any_top else ():
            if count := (request := requests[place]).top:
                temperature = request.sampling.temperature
                top_R[place] += most_likely(logits_BV[row : row + 1], count, temperature=temperature)
        ids_RN[row_B, step] = drawn.ids_B
        logp_RN[row_B, step] = drawn.logp_B
        behaviour_logp_RN[row_B, step] = drawn.behaviour_logp_B
        ended_B = ends_UV[ends_R[row_B], drawn.ids_B] | (step + 1 >= limit_R[row_B])
        length_R[row_B] = torch.where((length_R[row_B] == 0) & ended_B, step + 1, length_R[row_B])
        live_B = length_R[row_B] == 0
        live = int(live_B.sum())
        seconds_N.append(time.perf_counter() - start_time)
        if not live:
            break
        # An ended row with a full context has no position left for decoding.
        full = live < len(row_B) and bool((prompt_R[row_B] + step >= model.max_length).any())
        ids_B = drawn.ids_B
        if full or live < COMPACT_BELOW * len(row_B):
            index_B = live_B.nonzero()[:, 0]
            row_B = row_B[index_B]
            ids_B = ids_B[index_B]
            rules_B = rules_B.rows(index_B)
            cache = model.keep(cache, index_B)
        logits_BV, cache = model.decode(ids_B, cache)
    return _Round(ids_RN.tolist(), logp_RN.tolist(), behaviour_logp_RN.tolist(), length_R.tolist(), seconds_N, top_R)


def _read_images(requests: Sequence[Sample]) -> tuple[Image, ...]:
    """Images of the requests; none if no id is of an image token."""
    showing = [request for request in requests if request.images and is_image_id(max(request.ids))]
    return unique_images(image for request in showing for image in request.images)


def _prefill(
    model: PaddedModel, prompts: Sequence[list[int]], room: int, device: torch.device, images: tuple[Image, ...]
) -> tuple[Tensor, Any]:
    """Prefill each distinct prompt once, and expand the cache to a row per request."""
    unique: dict[tuple[int, ...], int] = {}
    index = [unique.setdefault(tuple(prompt), len(unique)) for prompt in prompts]
    rows = [list(prompt) for prompt in unique]
    logits_BV, cache = model.prefill(rows, room, images) if images else model.prefill(rows, room)
    if len(unique) == len(prompts):
        return logits_BV, cache
    index_B = torch.tensor(index, device=device)
    return logits_BV[index_B], model.keep(cache, index_B)


def _endings(requests: Sequence[Sample], vocabulary: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Vocabulary masks of turn-ending ids, one for each distinct set, and the mask index of each request."""
    unique: dict[frozenset[int], int] = {}
    ends_R = [unique.setdefault(request.stop | request.header, len(unique)) for request in requests]
    ends_UV = torch.zeros(len(unique), vocabulary, dtype=torch.bool)
    for ids, row in unique.items():
        ends_UV[row, [i for i in ids if 0 <= i < vocabulary]] = True
    return ends_UV.to(device), torch.tensor(ends_R, device=device)


def _completion(ticket: int, request: Sample, drawn: _Round, place: int, version: int) -> Completion:
    length, before = drawn.length_R[place], partial_turn(request)
    sampled = Partial(
        [*before.ids, *drawn.ids_RN[place][:length]],
        [*before.logp, *drawn.logp_RN[place][:length]],
        [*before.behaviour_logp, *drawn.behaviour_logp_RN[place][:length]],
        [*before.version, *[version] * length],
    )
    return make_completion(ticket, request, sampled, drawn.seconds_N[length - 1], drawn.top_R[place][:length])
