"""Sampling requests: validation, token limits, uniform numbers and completions, shared by all samplers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from handaxe.core.errors import InputError, SamplingError
from handaxe.core.images import image_key, index_images, is_image_id, token_number
from handaxe.core.model_api import VisionModel
from handaxe.core.records import Finish
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.local.token_sampling import uniforms

__all__ = [
    "MIN_TEMPERATURE",
    "SamplingLimits",
    "check_request",
    "finish_reason",
    "make_completion",
    "partial_turn",
    "remaining_uniforms",
    "token_limit",
]

MIN_TEMPERATURE = 1e-30
"""Smallest temperature above 0. Logits divided by a smaller one may overflow in float32."""


class SamplingLimits(Protocol):
    """Properties of a model that bound a request."""

    @property
    def vocab_size(self) -> int:
        """Vocabulary size; ids lie below."""
        ...

    @property
    def max_length(self) -> int:
        """Maximum number of tokens in a sequence."""
        ...


def partial_turn(request: Sample) -> Partial:
    """The part of the request's turn sampled before an interruption; empty for a new turn."""
    return request.prefix or Partial([], [], [], [])


def remaining_uniforms(request: Sample, max_length: int) -> np.ndarray:
    """Uniform numbers of the tokens left to sample, up to `token_limit`, without the already sampled part."""
    return uniforms(request.seed, token_limit(request, max_length))[len(partial_turn(request).ids) :]


def finish_reason(request: Sample, last: int) -> Finish:
    """The finish reason of a turn with last token `last`; an id in both `stop` and `header` counts as stop."""
    if last in request.stop:
        return "stop"
    return "header" if last in request.header else "length"


def make_completion(
    ticket: int,
    request: Sample,
    sampled: Partial,
    seconds: float,
    top: Sequence[Sequence[tuple[int, float]]] = (),
) -> Completion:
    """The completion of an ended turn.

    Raises:
        SamplingError: a log-prob is not finite.
    """
    if not all(map(math.isfinite, sampled.logp)):
        raise SamplingError(
            f"request {ticket}: the model's logits are not finite, the weights are damaged; load an earlier checkpoint",
            ticket=ticket,
        )
    return Completion(*sampled, finish=finish_reason(request, sampled.ids[-1]), seconds=seconds, top=top)


def check_request(ticket: int, request: Sample, model: SamplingLimits) -> None:
    """Raise InputError with the request's number for an invalid request."""
    ids = request.ids
    sampling = request.sampling
    problem = ""
    if not len(ids):
        problem = "it has no ids; a policy needs at least one token of context"
    elif len(ids) >= model.max_length:
        problem = (
            f"its {len(ids)} ids leave no room for a token within the model's {model.max_length}; "
            "end the trajectory as truncated(length), or shorten its history"
        )
    elif id_problem := _id_problem(request, model):
        problem = id_problem
    elif not (sampling.temperature >= 0 and math.isfinite(sampling.temperature)):
        problem = f"temperature is {sampling.temperature}; give 0 (greedy) or more"
    elif 0 < sampling.temperature < MIN_TEMPERATURE:
        problem = f"temperature is {sampling.temperature}; give 0 (greedy), or {MIN_TEMPERATURE} or more"
    elif not 0 < sampling.top_p <= 1:
        problem = f"top_p is {sampling.top_p}; give a number in (0, 1]"
    elif sampling.top_k < 0:
        problem = f"top_k is {sampling.top_k}; give 0 (no cut) or more"
    elif sampling.max_tokens < 1:
        problem = f"max_tokens is {sampling.max_tokens}; give 1 or more"
    elif request.top < 0:
        problem = f"top is {request.top}; give 0 (no alternatives) or more"
    elif request.seed < 0:
        problem = f"its seed is {request.seed}; give 0 or more"
    else:
        problem = _partial_problem(request, token_limit(request, model.max_length))
    if problem:
        raise InputError(f"request {ticket} cannot be sampled: {problem}")


def token_limit(request: Sample, max_length: int) -> int:
    """The most tokens of the turn, including the part sampled before an interruption."""
    return min(request.sampling.max_tokens, max_length - len(request.ids))


def _in_vocabulary(ids: Sequence[int], model: SamplingLimits) -> bool:
    return not len(ids) or (min(ids) >= 0 and max(ids) < model.vocab_size)


def _id_problem(request: Sample, model: SamplingLimits) -> str:
    """Describe the problem with a request's ids; "" without a problem. Ids of image tokens need their image."""
    outside = f"it holds an id outside [0, {model.vocab_size})"
    if not _in_vocabulary(partial_turn(request).ids, model):
        return outside
    if _in_vocabulary(request.ids, model):
        return ""
    image_ids = [token for token in request.ids if is_image_id(token)]
    if not image_ids or not _in_vocabulary([token for token in request.ids if not is_image_id(token)], model):
        return outside
    if not isinstance(model, VisionModel):
        return "it holds image tokens, and the model reads no images; use a model with vision"
    images = index_images(request.images)
    if missing := [key for token in image_ids if (key := image_key(token)) not in images]:
        digits = f"{missing[0] >> 2:011x}"
        return f"its ids name an image with a digest that begins with {digits}, which is not among its images"
    last = request.ids[-1]
    if model.whole_images and is_image_id(last):
        size = len(model.image_processor.token_ids(images[image_key(last)]))
        if (read := token_number(last) + 1) != size:
            return f"it ends after token {read} of an image of {size}, which this model reads whole"
    return ""


def _partial_problem(request: Sample, limit: int) -> str:
    """Describe the problem with a request's partial turn; "" without a problem."""
    part = partial_turn(request)
    if len({len(values) for values in part}) > 1:
        return f"the lists of `begun` have lengths {[len(values) for values in part]}; they must be parallel"
    if len(part.ids) >= limit:
        return f"`begun` holds {len(part.ids)} tokens and the turn may have {limit}; no token is left to sample"
    if part.ids and finish_reason(request, part.ids[-1]) != "length":
        return f"`begun` ends with the id {part.ids[-1]}, which ended the turn"
    return ""
