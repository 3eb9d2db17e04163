"""Supervised training of autoregressive and masked-diffusion policies on the same demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from handaxe.models.tiny import TinyModel
from handaxe.papers.dllm_agent.denoiser import Denoiser
from handaxe.papers.dllm_agent.masked_loss import corrupt, denoising_loss, draw_masks
from handaxe.papers.dllm_agent.span_rows import SpanRow, span_row
from handaxe.training.loop.schedule import cosine

__all__ = ["Fitting", "SpannedIds", "fit_autoregressive", "fit_denoiser"]


WINDOW = 4
"""Batches of neighbours in the order of lengths that a batch is drawn from; padding costs time."""


class SpannedIds(NamedTuple):
    """Ids of a demonstration, and [start, stop) of its action spans."""

    ids: np.ndarray
    spans: Sequence[tuple[int, int]]


class Fitting(NamedTuple):
    """Training settings, the same for all policies: steps, conversations a step, peak learning rate, and seed."""

    steps: int
    batch_size: int
    learning_rate: float
    seed: int = 0


def fit_autoregressive(model: TinyModel, data: Sequence[SpannedIds], fitting: Fitting, *, pad: int) -> list[float]:
    """Train on the next tokens of action spans.

    Args:
        model: trained in place.
        data: conversations.
        fitting: settings.
        pad: id of padding.

    Returns:
        Loss of each step.

    Example:
        fit_autoregressive(TinyModel.new(), data, Fitting(300, 32, 4e-3), pad=END)

    Paper: arXiv:2602.07451 (DLLM Agent), the autoregressive agent, fine-tuned on the same trajectories.
    Differs: nothing.
    """

    def loss(chosen: Iterable[int]) -> Tensor:
        own = [data[number] for number in chosen]
        longest = max(len(one.ids) for one in own)
        ids_BT = torch.stack([F.pad(torch.from_numpy(one.ids), (0, longest - len(one.ids)), value=pad) for one in own])
        action_BT = torch.zeros(ids_BT.shape, dtype=torch.bool)
        for action_T, one in zip(action_BT, own):
            for start, stop in one.spans:
                action_T[start:stop] = True
        hidden_MD = model.module.hidden(ids_BT)[:, :-1][action_BT[:, 1:]]
        return F.cross_entropy(model.module.head(hidden_MD), ids_BT[:, 1:][action_BT[:, 1:]])

    return _optimise(model.module, loss, [len(one.ids) for one in data], fitting)


def fit_denoiser(
    model: Denoiser,
    data: Sequence[SpannedIds],
    fitting: Fitting,
    *,
    size: int,
    pad: int,
    mask: Callable[[SpanRow], np.ndarray],
) -> list[float]:
    """Train on masked tokens of action spans.

    Args:
        model: trained in place.
        data: conversations.
        fitting: settings.
        size: tokens of a block.
        pad: id that fills the last block of a span.
        mask: attention mask of a row, `span_mask` or `naive_mask`.

    Returns:
        Loss of each step.

    Example:
        fit_denoiser(Denoiser(net), data, Fitting(300, 32, 4e-3), size=10, pad=END, mask=span_mask)

    Paper: arXiv:2602.07451 (DLLM Agent), agent-oriented fine-tuning.
    Differs: nothing.
    """
    rows = [span_row(one.ids, one.spans, size=size, pad=pad) for one in data]
    visible = [mask(row) for row in rows]
    rng = np.random.default_rng(fitting.seed)

    def loss(chosen: Iterable[int]) -> Tensor:
        numbers = [*chosen]
        masked, t = zip(*(draw_masks(rows[number], rng) for number in numbers))
        return denoising_loss(
            model, corrupt([rows[number] for number in numbers], [visible[number] for number in numbers], masked, t)
        )

    return _optimise(model, loss, [len(one.ids) for one in data], fitting)


def _optimise(
    module: nn.Module, loss: Callable[[Iterable[int]], Tensor], lengths: Sequence[int], fitting: Fitting
) -> list[float]:
    """Take AdamW steps on random batches of conversations of similar length, chosen by the seed alone."""
    rng = np.random.default_rng(fitting.seed)
    batch = min(len(lengths), fitting.batch_size)
    window = min(len(lengths), WINDOW * batch)
    order = np.argsort(lengths, kind="stable")
    rate = cosine(
        fitting.learning_rate, steps=fitting.steps, warmup_steps=fitting.steps // 10, floor=fitting.learning_rate / 10
    )
    optimiser = torch.optim.AdamW(module.parameters(), lr=fitting.learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    losses = list[float]()
    for step in range(fitting.steps):
        for group in optimiser.param_groups:
            group["lr"] = rate(step)
        value = loss(order[rng.integers(len(order) - window + 1) + rng.choice(window, batch, replace=False)])
        optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimiser.step()
        losses.append(float(value.detach()))
    return losses
