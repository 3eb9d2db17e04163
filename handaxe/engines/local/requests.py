"""What is true of one request whatever samples it: whether it can be, how far it may go, what its draws depend on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from handaxe.core.errors import InputError, TrainingError
from handaxe.core.records import Finish
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.engines.local.token_sampling import uniforms

__all__ = ["SamplingLimits", "begun", "check_request", "completed", "finish", "remaining_uniforms", "room"]


class SamplingLimits(Protocol):
    """What is known of a model to tell whether a request can be sampled from it."""

    @property
    def vocab_size(self) -> int:
        """Ids are below it."""
        ...

    @property
    def max_length(self) -> int:
        """Most tokens of one sequence."""
        ...


def begun(request: Sample) -> Partial:
    """What was sampled of the request's turn before."""
    return request.begun or Partial([], [], [], [])


def remaining_uniforms(request: Sample, max_length: int) -> np.ndarray:
    """One uniform number for each token that may still be sampled: up to `max_tokens`, those sampled before counted,
    and to the room that is left in the model's `max_length`."""
    return uniforms(request.seed, room(request, max_length))[len(begun(request).ids) :]


def finish(request: Sample, last: int) -> Finish:
    """How a turn ends whose last token is `last`; an id that is both stop and header is a stop."""
    if last in request.stop:
        return "stop"
    return "header" if last in request.header else "length"


def completed(ticket: int, request: Sample, sampled: Partial, seconds: float) -> Completion:
    """The completion of a turn that has ended.

    Raises:
        TrainingError: when a log-prob is not finite.
    """
    if not all(map(math.isfinite, sampled.logp)):
        raise TrainingError(
            f"request {ticket}: the model's logits are not finite, so nothing can be sampled; its weights are damaged, "
            "load an earlier checkpoint"
        )
    return Completion(*sampled, finish=finish(request, sampled.ids[-1]), seconds=seconds)


def check_request(ticket: int, request: Sample, model: SamplingLimits) -> None:
    """Raise InputError, naming the request, when it cannot be sampled."""
    ids = request.ids
    sampling = request.sampling
    problem = ""
    if not len(ids):
        problem = "it has no ids, but a policy needs at least one token to see"
    elif len(ids) >= model.max_length:
        problem = (
            f"its {len(ids)} ids leave no room for a token within the model's {model.max_length}; "
            "end the trajectory as truncated(length), or shorten its history"
        )
    elif not _known(ids, model) or not _known(begun(request).ids, model):
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
    else:
        problem = _over(request, room(request, model.max_length))
    if problem:
        raise InputError(f"request {ticket} cannot be sampled: {problem}")


def room(request: Sample, max_length: int) -> int:
    """The most tokens that the turn may have, those sampled before counted."""
    return min(request.sampling.max_tokens, max_length - len(request.ids))


def _known(ids: Sequence[int], model: SamplingLimits) -> bool:
    return not len(ids) or (min(ids) >= 0 and max(ids) < model.vocab_size)


def _over(request: Sample, room: int) -> str:
    """What is wrong with the part that was sampled before, if anything."""
    part = begun(request)
    if len({len(values) for values in part}) > 1:
        return f"the lists of `begun` have lengths {[len(values) for values in part]}; they must be parallel"
    if len(part.ids) >= room:
        return f"`begun` holds {len(part.ids)} tokens already and the turn may have {room}; there is none to sample"
    if part.ids and finish(request, part.ids[-1]) != "length":
        return f"`begun` ends with the id {part.ids[-1]}, which ended the turn"
    return ""
