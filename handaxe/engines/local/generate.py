"""Sample completions in rounds, from models whose rows cannot join and leave: ragged prompts together, each prompt read
once, ended rows dropped. The fallback of `engines.local.stream`.

Shapes: R requests of a round, B rows still in the cache, N new tokens, V vocabulary.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from handaxe.core.model_api import PaddedModel
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.local.requests import begun, completed, remaining_uniforms
from handaxe.engines.local.token_sampling import draw, rules

__all__ = ["generate"]

COMPACT_BELOW = 0.75
"""Share of live rows below which the cache is copied without the ended ones: copying costs about one step."""


def generate(
    model: PaddedModel, requests: Mapping[int, Sample], *, version: int, max_rows: int, device: torch.device
) -> list[tuple[int, Completion]]:
    """Complete every request; a completion depends on its request alone.

    Requests are taken in order of prompt, `max_rows` at a time, so that siblings meet and their prompt is read once.
    Which requests share a round changes a logit by float rounding only, and a draw not at all unless its uniform
    number falls within that rounding of a boundary between two tokens.

    Args:
        model: put it into evaluation mode before.
        requests: by ticket, checked (`engines.local.requests.check_request`). `max_tokens` is cut to the room that is
            left. A `stop` id is kept and ends the completion with finish "stop", a `header` id with "header"; an id
            that is both counts as a stop.
        version: recorded for every token sampled here.
        max_rows: rows in the cache at a time; bounds memory.
        device: where the model is.

    Returns:
        (ticket, completion) in the order of the requests. `seconds` runs from the start of a request's round to its
        last token.

    Raises:
        TrainingError: when the model's logits are not finite.
    """
    prompts = {ticket: [*request.ids, *begun(request).ids] for ticket, request in requests.items()}
    order = sorted(requests, key=lambda ticket: (len(prompts[ticket]), prompts[ticket]))
    done: dict[int, Completion] = {}
    for start in range(0, len(order), max_rows):
        chosen = order[start : start + max_rows]
        drawn = _round(model, [requests[t] for t in chosen], [prompts[t] for t in chosen], device)
        for place, ticket in enumerate(chosen):
            done[ticket] = _completion(ticket, requests[ticket], drawn, place, version)
    return [(ticket, done[ticket]) for ticket in requests]


class _Round(NamedTuple):
    """What was drawn: [R, N] arrays of which the first `length_R` count, and the time of each step."""

    ids_RN: list[list[int]]
    logp_RN: list[list[float]]
    behaviour_logp_RN: list[list[float]]
    length_R: list[int]
    seconds_N: list[float]


@torch.inference_mode()
def _round(
    model: PaddedModel, requests: Sequence[Sample], prompts: Sequence[list[int]], device: torch.device
) -> _Round:
    begin, seconds_N = time.perf_counter(), []
    numbers = [remaining_uniforms(request, model.max_length) for request in requests]
    shape = (len(requests), max(map(len, numbers)))
    uniform_RN = torch.from_numpy(np.stack([np.pad(each, (0, shape[1] - len(each))) for each in numbers])).to(device)
    prompt_R = torch.tensor([len(prompt) for prompt in prompts], device=device)
    limit_R = torch.tensor([len(each) for each in numbers], device=device)

    logits_BV, cache = _prefill(model, prompts, shape[1], device)
    rules_B = rules([request.sampling for request in requests], device)
    ends_UV, ends_R = _endings(requests, logits_BV.shape[1], device)
    row_B = torch.arange(len(requests), device=device)
    ids_RN = torch.zeros(shape, dtype=torch.int64, device=device)
    logp_RN = torch.zeros(shape, dtype=torch.promote_types(logits_BV.dtype, torch.float32), device=device)
    behaviour_logp_RN = torch.zeros_like(logp_RN)
    length_R = torch.zeros_like(row_B)  # 0: still writing
    for step in range(shape[1]):
        drawn = draw(logits_BV, uniform_RN[row_B, step], rules_B)
        ids_RN[row_B, step] = drawn.ids_B
        logp_RN[row_B, step] = drawn.logp_B
        behaviour_logp_RN[row_B, step] = drawn.behaviour_logp_B
        ended_B = ends_UV[ends_R[row_B], drawn.ids_B] | (step + 1 >= limit_R[row_B])
        length_R[row_B] = torch.where((length_R[row_B] == 0) & ended_B, step + 1, length_R[row_B])
        live_B = length_R[row_B] == 0
        live = int(live_B.sum())
        seconds_N.append(time.perf_counter() - begin)
        if not live:
            break
        # An ended row whose context is full has no position left to decode at.
        full = live < len(row_B) and bool((prompt_R[row_B] + step >= model.max_length).any())
        ids_B = drawn.ids_B
        if full or live < COMPACT_BELOW * len(row_B):
            index_B = live_B.nonzero()[:, 0]
            row_B = row_B[index_B]
            ids_B = ids_B[index_B]
            rules_B = rules_B.rows(index_B)
            cache = model.keep(cache, index_B)
        logits_BV, cache = model.decode(ids_B, cache)
    return _Round(ids_RN.tolist(), logp_RN.tolist(), behaviour_logp_RN.tolist(), length_R.tolist(), seconds_N)


def _prefill(model: PaddedModel, prompts: Sequence[list[int]], room: int, device: torch.device) -> tuple[Tensor, Any]:
    """Read every distinct prompt once, then give each request its copy."""
    unique: dict[tuple[int, ...], int] = {}
    index = [unique.setdefault(tuple(prompt), len(unique)) for prompt in prompts]
    logits_BV, cache = model.prefill([list(prompt) for prompt in unique], room)
    if len(unique) == len(prompts):
        return logits_BV, cache
    index_B = torch.tensor(index, device=device)
    return logits_BV[index_B], model.keep(cache, index_B)


def _endings(requests: Sequence[Sample], vocabulary: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """For each distinct (stop, header) a row over the vocabulary of what ends a turn; and each request's row."""
    unique: dict[frozenset[int], int] = {}
    ends_R = [unique.setdefault(request.stop | request.header, len(unique)) for request in requests]
    ends_UV = torch.zeros(len(unique), vocabulary, dtype=torch.bool)
    for ids, row in unique.items():
        ends_UV[row, [i for i in ids if 0 <= i < vocabulary]] = True
    return ends_UV.to(device), torch.tensor(ends_R, device=device)


def _completion(ticket: int, request: Sample, drawn: _Round, place: int, version: int) -> Completion:
    length, before = drawn.length_R[place], begun(request)
    sampled = Partial(
        [*before.ids, *drawn.ids_RN[place][:length]],
        [*before.logp, *drawn.logp_RN[place][:length]],
        [*before.behaviour_logp, *drawn.behaviour_logp_RN[place][:length]],
        [*before.version, *[version] * length],
    )
    return completed(ticket, request, sampled, drawn.seconds_N[length - 1])
