"""Shared parts of the engine checks: an example batch and loss, their oracle, and assertions with explanations.

The oracle loops over single rows without padding, one token at a time, in plain torch.

Shapes: B rows, T tokens, V vocabulary.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from handaxe.core.batch import Batch, Denominators, LossOut, PolicyOut
from handaxe.core.images import is_image_id
from handaxe.core.model_api import Model
from handaxe.core.protocols import Engine, Stream
from handaxe.core.records import Sampling
from handaxe.core.requests import Completion, Sample

__all__ = [
    "EngineCase",
    "WAIT",
    "assert_close",
    "assert_raises",
    "assert_same_completion",
    "compare_gradient",
    "completed_batch",
    "example_batch",
    "example_loss",
    "example_requests",
    "finish_stream",
    "oracle_loss",
    "oracle_measures",
    "train_steps",
]

ENTROPY_WEIGHT = 0.1
LONGEST = 120.0
"""Seconds after which a stream with requests counts as hanging."""
WAIT = 0.1
"""Seconds that a poll waits for a stream that samples elsewhere."""


@dataclass(frozen=True)
class EngineCase:
    """Arguments of `check_engine`."""

    make_engine: Callable[[], Engine]
    make_model: Callable[[], Model]
    folder: Path
    tolerance: float
    gradient: Callable[[Engine], Mapping[str, Tensor]] | None
    weights: Callable[[Engine], Mapping[str, Tensor]] | None
    reference: bool
    kill: Callable[[Engine], None] | None = None


def example_batch(model: Model, *, rows: int = 5, padding: int = 0, seed: int = 0) -> Batch:
    """Make random rows of unequal length, with two turns if they are long enough; temperatures 1, 0.7 and 0 in turn.

    Args:
        padding: columns of padding beyond the longest row.
    """
    draw = np.random.Generator(np.random.Philox(key=seed))
    length_B = draw.integers(3, min(14, model.max_length - 3) + 1, rows)
    length_B[0] = length_B.max()
    shape = (rows, int(length_B[0]) + padding)
    ids_BT = np.full(shape, model.pad_id)
    turn_BT = np.full(shape, -1)
    adv_BT = np.zeros(shape)
    logp_BT = np.zeros(shape)
    for row, length in enumerate(length_B):
        ids_BT[row, :length] = draw.integers(0, model.vocab_size, length)
        turn_BT[row, 1:length] = 0
        turn_BT[row, 6:length] = 1
        adv_BT[row, 1:length] = draw.normal(size=length - 1)
        logp_BT[row, 1:length] = -draw.random(length - 1)
    mask_BT = turn_BT >= 0
    mask_BT[:, 4:6] = False  # a tool's reply between the turns
    adv_BT, logp_BT = np.where(mask_BT, adv_BT, 0), np.where(mask_BT, logp_BT, 0)
    tokens_B = mask_BT.sum(1)
    turns_B = np.array([len(set(turn[mask].tolist())) for turn, mask in zip(turn_BT, mask_BT)])
    positive = float((mask_BT & (adv_BT > 0)).sum())
    return Batch(
        ids_BT=torch.from_numpy(ids_BT),
        attend_BT=torch.from_numpy(np.arange(shape[1]) < length_B[:, None]),
        mask_BT=torch.from_numpy(mask_BT),
        adv_BT=torch.from_numpy(adv_BT).float(),
        old_logp_BT=torch.from_numpy(logp_BT).float(),
        behaviour_logp_BT=torch.from_numpy(logp_BT).float(),
        turn_BT=torch.from_numpy(turn_BT),
        group_B=torch.zeros(rows, dtype=torch.int64),
        rollout_B=torch.arange(rows),
        rollout_tokens_B=torch.from_numpy(tokens_B).float(),
        rollout_turns_B=torch.from_numpy(turns_B).float(),
        temperature_B=torch.tensor([1.0, 0.7, 0.0] * rows)[:rows],
        denominators=Denominators(float(tokens_B.sum()), float(rows), float(turns_B.sum()), 1.0, positive),
    )


def example_loss(out: PolicyOut, batch: Batch) -> LossOut:
    """Compute minus advantage-weighted log-prob, minus a tenth of the entropy, per trained token of the step."""
    each_BT = -batch.adv_BT * out.logp_BT - ENTROPY_WEIGHT * out.entropy()
    value = torch.where(batch.mask_BT, each_BT, 0.0).sum() / batch.denominators.tokens
    return LossOut(value, {"loss": value.item()})


def oracle_measures(model: Model, batch: Batch) -> dict[str, Tensor]:
    """Compute logp, entropy and collision [B, T] in float64, by a loop over rows and tokens, with gradient.
    Image tokens have none."""
    model.module.eval()
    names = ("logp", "entropy", "collision")
    out = {name: torch.zeros(batch.ids_BT.shape, dtype=torch.float64) for name in names}
    for row in range(len(batch)):
        ids_T = batch.ids_BT[row, batch.attend_BT[row]]
        device = next(model.module.parameters()).device
        attend_1T = torch.ones_like(ids_T, dtype=torch.bool)[None].to(device)
        images = (batch.images,) if batch.images and is_image_id(ids_T).any() else ()
        logits_1TV = model.head(model.hidden(ids_T[None].to(device), attend_1T, *images))
        temperature = float(batch.temperature_B[row]) or 1.0
        for t in range(1, len(ids_T)):
            if is_image_id(ids_T[t]):
                continue
            p_V = torch.softmax(logits_1TV[0, t - 1].double().cpu() / temperature, -1)
            for name, value in zip(names, (p_V[ids_T[t]].log(), torch.special.entr(p_V).sum(), (p_V**2).sum())):
                out[name] = out[name].index_put((torch.tensor(row), torch.tensor(t)), value)
    return out


def oracle_loss(model: Model, batch: Batch) -> tuple[float, dict[str, Tensor]]:
    """Compute `example_loss` and its gradient by parameter name, through `oracle_measures`."""
    measures = oracle_measures(model, batch)
    value = torch.zeros((), dtype=torch.float64)
    for row, t in batch.mask_BT.nonzero().tolist():
        each = -batch.adv_BT[row, t] * measures["logp"][row, t] - ENTROPY_WEIGHT * measures["entropy"][row, t]
        value = value + each / batch.denominators.tokens
    model.module.zero_grad()
    value.backward()
    return value.item(), {name: p.grad.cpu() for name, p in model.module.named_parameters() if p.grad is not None}


def train_steps(engine: Engine, batches: Sequence[Batch]) -> None:
    """Make an optimiser step for each batch."""
    for batch in batches:
        engine.forward_backward(batch, example_loss)
        engine.optim_step(learning_rate=1e-2)


def example_requests(model: Model, sampling: Sampling) -> list[Sample]:
    """Make requests of two siblings and of other ragged prompts, without stop ids."""
    prompts = [[t * 7 % model.vocab_size for t in range(start, start + 2 + start)] for start in (1, 1, 2, 4)]
    return [Sample(ids, sampling, seed=seed, stop=frozenset()) for seed, ids in enumerate(prompts)]


def completed_batch(requests: Sequence[Sample], completions: Sequence[Completion]) -> Batch:
    """Make rows of prompts and completions, with the completions as measured tokens."""
    rows = [[*request.ids, *done.ids] for request, done in zip(requests, completions)]
    width, zeros = max(map(len, rows)), torch.zeros(len(rows), max(map(len, rows)))
    begin = [len(request.ids) for request in requests]
    return Batch(
        ids_BT=torch.tensor([row + [0] * (width - len(row)) for row in rows]),
        attend_BT=torch.tensor([[t < len(row) for t in range(width)] for row in rows]),
        mask_BT=torch.tensor([[start <= t < len(row) for t in range(width)] for start, row in zip(begin, rows)]),
        adv_BT=zeros,
        old_logp_BT=zeros,
        behaviour_logp_BT=zeros,
        turn_BT=zeros.long(),
        group_B=torch.zeros(len(rows), dtype=torch.int64),
        rollout_B=torch.arange(len(rows)),
        rollout_tokens_B=torch.ones(len(rows)),
        rollout_turns_B=torch.ones(len(rows)),
        temperature_B=torch.tensor([request.sampling.temperature for request in requests]),
        denominators=Denominators(1.0, 1.0, 1.0, 1.0, 0.0),
    )


def compare_gradient(
    case: EngineCase, engine: Engine, want: Mapping[str, Tensor], *, times: float = 1.0, where: str = ""
) -> None:
    """Assert that the engine's accumulated gradient, if readable, is `times` the gradient `want`."""
    if case.gradient is None:
        return
    got = case.gradient(engine)
    largest = max(float(gradient.abs().max()) for gradient in want.values())
    for name, gradient in want.items():
        assert_close(
            f"the gradient of {name}{where}", got[name].cpu() / largest, times * gradient / largest, case.tolerance
        )


def finish_stream(stream: Stream) -> dict[int, Completion]:
    """Poll until the stream is empty; returns completions by ticket."""
    done: dict[int, Completion] = {}
    begin = time.monotonic()
    while len(stream):
        assert time.monotonic() - begin < LONGEST, f"{len(stream)} requests are in the stream after {LONGEST:g} s"
        ended = stream.poll(WAIT)
        tickets = [ticket for ticket, _ in ended]
        assert tickets == sorted(tickets), f"poll hands over in order of ticket, not {tickets}"
        done.update(ended)
    return done


def assert_raises(kind: type[Exception], act: Callable[[], object], what: str) -> str:
    """Assert an exception of `act`; returns the message."""
    try:
        act()
    except kind as error:
        return str(error)
    raise AssertionError(f"{what} must be refused with {kind.__name__}")


def assert_close(what: str, got: Tensor, want: Tensor, tolerance: float) -> None:
    """Assert shape and values; the tolerance is absolute below 1 and relative above."""
    got, want = got.double().cpu(), want.double().cpu()
    assert got.shape == want.shape, f"{what} has shape {list(got.shape)}, and should have {list(want.shape)}"
    gap = (got - want).abs() / (1 + want.abs())
    assert bool((gap <= tolerance).all()), f"{what} is off by {float(gap.max()):.3g} (tolerance {tolerance:g})"


def assert_same_completion(case: EngineCase, what: str, got: Completion, want: Completion) -> None:
    """Assert equal ids, finish and versions, and log-probs within the tolerance."""
    assert (got.ids, got.finish) == (want.ids, want.finish), f"{what} became {got.ids}, and alone it is {want.ids}"
    assert got.version == want.version, f"{what} has versions {got.version}, and alone {want.version}"
    for name, one, other in (("logp", got.logp, want.logp), ("behaviour", got.behaviour_logp, want.behaviour_logp)):
        assert_close(f"{name} of {what}", torch.tensor(one), torch.tensor(other), case.tolerance)
