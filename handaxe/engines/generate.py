"""Sample completions with a key-value cache: ragged prompts together, each prompt read once, ended rows dropped.

Shapes: R requests of a round, B rows still in the cache, N new tokens, V vocabulary.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from handaxe.engines.draw import draw, rules, uniforms
from handaxe.errors import InputError, TrainingError
from handaxe.records import Finish
from handaxe.slots import Completion, Model, Sample

__all__ = ["generate"]

FINISHES: tuple[Finish, ...] = ("length", "stop", "header")
COMPACT_BELOW = 0.75
"""Share of live rows below which the cache is copied without the ended ones: copying costs about one step."""


def generate(
    model: Model, requests: Sequence[Sample], *, version: int, max_rows: int, device: torch.device
) -> list[Completion]:
    """Complete every request; a completion depends on its request alone.

    Requests are taken in order of prompt, `max_rows` at a time, so that siblings meet and their prompt is read once.
    Which requests share a round changes a logit by float rounding only, and a draw not at all unless its uniform
    number falls within that rounding of a boundary between two tokens.

    Args:
        model: put it into evaluation mode before.
        requests: `ids` hold at least one token and leave room for one; `max_tokens` is cut to the room that is left.
            A `stop` id is kept and ends the completion with finish "stop", a `header` id with "header"; an id that is
            both counts as a stop.
        version: recorded for every token.
        max_rows: rows in the cache at a time; bounds memory.
        device: where the model is.

    Returns:
        In the order of the requests. `seconds` runs from the start of a request's round to its last token.

    Raises:
        InputError: naming the request that cannot be sampled.
        TrainingError: when the model's logits are not finite.
    """
    for index, request in enumerate(requests):
        _check(index, request, model)
    order = sorted(range(len(requests)), key=lambda i: (len(requests[i].ids), tuple(requests[i].ids)))
    done: dict[int, Completion] = {}
    for start in range(0, len(order), max_rows):
        chosen = order[start : start + max_rows]
        drawn = _round(model, [requests[i] for i in chosen], device)
        for place, index in enumerate(chosen):
            done[index] = _completion(index, drawn, place, version)
    return [done[index] for index in range(len(requests))]


class _Round(NamedTuple):
    """What was drawn: [R, N] arrays of which the first `length_R` count, the finish, and the time of each step."""

    ids_RN: list[list[int]]
    logp_RN: list[list[float]]
    behaviour_logp_RN: list[list[float]]
    length_R: list[int]
    finish_R: list[Finish]
    seconds_N: list[float]


@torch.inference_mode()
def _round(model: Model, requests: Sequence[Sample], device: torch.device) -> _Round:
    begin, seconds_N = time.perf_counter(), []
    prompts = [len(request.ids) for request in requests]
    limits = [min(r.sampling.max_tokens, model.max_length - prompt) for r, prompt in zip(requests, prompts)]
    shape = (len(requests), max(limits))
    uniform_RN = torch.from_numpy(_uniforms(requests, limits, shape)).to(device)
    prompt_R, limit_R = torch.tensor(prompts, device=device), torch.tensor(limits, device=device)

    logits_BV, cache = _prefill(model, requests, shape[1], device)
    rules_B = rules([request.sampling for request in requests], device)
    table_UV, table_R = _endings(requests, logits_BV.shape[1], device)
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
        ended_B = (table_UV[table_R[row_B], drawn.ids_B] > 0) | (step + 1 >= limit_R[row_B])
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
            row_B, ids_B, rules_B, cache = (
                row_B[index_B],
                ids_B[index_B],
                rules_B.rows(index_B),
                model.keep(cache, index_B),
            )
        logits_BV, cache = model.decode(ids_B, cache)

    last_R = ids_RN.gather(1, length_R[:, None] - 1)[:, 0]
    finish_R = [FINISHES[kind] for kind in table_UV[table_R, last_R].tolist()]
    parts = (ids_RN.tolist(), logp_RN.tolist(), behaviour_logp_RN.tolist(), length_R.tolist())
    return _Round(*parts, finish_R, seconds_N)


def _uniforms(requests: Sequence[Sample], limits: list[int], shape: tuple[int, int]) -> np.ndarray:
    uniform_RN = np.zeros(shape)
    for row_N, request, limit in zip(uniform_RN, requests, limits):
        row_N[:limit] = uniforms(request.seed, limit)
    return uniform_RN


def _prefill(model: Model, requests: Sequence[Sample], room: int, device: torch.device) -> tuple[Tensor, Any]:
    """Read every distinct prompt once, then give each request its copy."""
    unique: dict[tuple[int, ...], int] = {}
    index = [unique.setdefault(tuple(request.ids), len(unique)) for request in requests]
    logits_BV, cache = model.prefill([list(prompt) for prompt in unique], room)
    if len(unique) == len(requests):
        return logits_BV, cache
    index_B = torch.tensor(index, device=device)
    return logits_BV[index_B], model.keep(cache, index_B)


def _endings(requests: Sequence[Sample], vocabulary: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """For each distinct (stop, header) a row over the vocabulary of indices into FINISHES; and each request's row."""
    unique: dict[tuple[frozenset[int], frozenset[int]], int] = {}
    table_R = [unique.setdefault((request.stop, request.header), len(unique)) for request in requests]
    table_UV = torch.zeros(len(unique), vocabulary, dtype=torch.int64)
    for (stop, header), row in unique.items():
        for kind, ids in ((2, header), (1, stop)):
            table_UV[row, [i for i in ids if 0 <= i < vocabulary]] = kind
    return table_UV.to(device), torch.tensor(table_R, device=device)


def _completion(index: int, drawn: _Round, place: int, version: int) -> Completion:
    length = drawn.length_R[place]
    logp, behaviour_logp = drawn.logp_RN[place][:length], drawn.behaviour_logp_RN[place][:length]
    if not all(map(math.isfinite, logp)):
        raise TrainingError(
            f"request {index}: the model's logits are not finite, so nothing can be sampled; its weights are damaged, "
            "load an earlier checkpoint"
        )
    return Completion(
        ids=drawn.ids_RN[place][:length],
        logp=logp,
        behaviour_logp=behaviour_logp,
        version=[version] * length,
        finish=drawn.finish_R[place],
        seconds=drawn.seconds_N[length - 1],
    )


def _check(index: int, request: Sample, model: Model) -> None:
    ids, sampling, problem = request.ids, request.sampling, ""
    if not len(ids):
        problem = "it has no ids, but a policy needs at least one token to see"
    elif len(ids) >= model.max_length:
        problem = (
            f"its {len(ids)} ids leave no room for a token within the model's {model.max_length}; "
            "end the trajectory as truncated(length), or shorten its history"
        )
    elif min(ids) < 0 or max(ids) >= model.vocab_size:
        problem = f"it holds an id outside [0, {model.vocab_size})"
    elif not (sampling.temperature >= 0 and math.isfinite(sampling.temperature)):
        problem = f"temperature is {sampling.temperature}; give 0 (greedy) or more"
    elif not 0 < sampling.top_p <= 1:
        problem = f"top_p is {sampling.top_p}; give a number in (0, 1]"
    elif sampling.top_k < 0:
        problem = f"top_k is {sampling.top_k}; give 0 (no cut) or more"
    elif sampling.max_tokens < 1:
        problem = f"max_tokens is {sampling.max_tokens}; give 1 or more"
    elif request.seed < 0:
        problem = f"its seed is {request.seed}; give 0 or more"
    if problem:
        raise InputError(f"request {index} cannot be sampled: {problem}")
