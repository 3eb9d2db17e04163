"""Supervised training of a tiny model on lessons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from handaxe.models.tiny import TinyModel
from handaxe.papers.tool_gen.tool_lessons import Lesson
from handaxe.training.loop.schedule import cosine

__all__ = ["FitSettings", "fit_lessons"]


WINDOW = 4
"""Batches of a window of lessons that are sorted by length; padding costs time."""


class FitSettings(NamedTuple):
    """Steps, lessons of a step, and peak learning rate."""

    steps: int
    batch_size: int = 16
    learning_rate: float = 2e-3


def fit_lessons(model: TinyModel, lessons: Sequence[Lesson], fitting: FitSettings, *, seed: int) -> list[float]:
    """Take AdamW steps on batches of lessons, in passes over all of them in random order.

        loss = - 1 / n sum of log p(id | ids before), over the n learned places of the batch

    Args:
        model: trained in place.
        lessons: at least one.
        fitting: settings; a cosine schedule with a warm-up of a tenth.
        seed: of the order.

    Returns:
        Loss of each step.

    Example:
        fit_lessons(model, lessons, FitSettings(200), seed=0)

    Paper: arXiv:2410.03439 (ToolGen), fine-tuning with a cosine schedule.
    Differs: batch size and learning rate.
    """
    batches = _batches(lessons, fitting.batch_size, np.random.default_rng(seed))
    rate = cosine(fitting.learning_rate, steps=fitting.steps, warmup_steps=fitting.steps // 10)
    optimiser = torch.optim.AdamW(
        model.module.parameters(), lr=fitting.learning_rate, betas=(0.9, 0.98), weight_decay=0.01
    )
    losses = list[float]()
    for step, own in zip(range(fitting.steps), batches):
        for group in optimiser.param_groups:
            group["lr"] = rate(step)
        longest = max(len(one.ids) for one in own)
        ids_BT = torch.tensor([[*one.ids, *[model.pad_id] * (longest - len(one.ids))] for one in own])
        rows = torch.tensor([row for row, one in enumerate(own) for _ in one.learned])
        places = torch.tensor([place for one in own for place in one.learned])
        hidden_ND = model.module.hidden(ids_BT)[rows, places - 1]
        loss = F.cross_entropy(model.module.head(hidden_ND), ids_BT[rows, places])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.module.parameters(), 1.0)
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses


def _batches(lessons: Sequence[Lesson], size: int, rng: np.random.Generator) -> Iterator[list[Lesson]]:
    """Yield batches of lessons of similar length, without end: passes in random order, sorted in windows."""
    while True:
        order = rng.permutation(len(lessons)).tolist()
        for start in range(0, len(order), WINDOW * size):
            window = sorted(order[start : start + WINDOW * size], key=lambda k: len(lessons[k].ids))
            cuts = [window[place : place + size] for place in range(0, len(window), size)]
            yield from ([lessons[k] for k in cuts[number]] for number in rng.permutation(len(cuts)))
