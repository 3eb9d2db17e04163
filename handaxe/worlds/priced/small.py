"""A policy that knows a list of answers by heart and nothing else, made in seconds: an expert that is cheap to ask."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn import functional as F

import handaxe
from handaxe.core.records import Message
from handaxe.models.compact import Compact
from handaxe.models.load import Policy
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.ops.cache import cached, digest
from handaxe.ops.seeds import generator

__all__ = ["small_expert"]

CONFIG = TinyConfig(width=64, layers=2, heads=2, max_length=128)
RATE = 3e-3
TAUGHT = 1
"""Raised with every change of what `_taught` makes of the same lessons, so that none is taken from the cache."""


def small_expert(
    lessons: Sequence[tuple[str, str]], *, steps: int = 250, batch_size: int = 64, seed: int = 0
) -> Policy:
    """Teach a fresh model of 0.13M parameters to answer these questions; it is kept in the cache by what it learns.

    What it says to anything else is its own: it has a skill, and no table says how large that is.

    Args:
        lessons: (question, answer), each a line or less.
        steps: of AdamW.
        batch_size: lessons a step, drawn with replacement.
        seed: of weights and draws.

    Returns:
        A policy that speaks Compact, of at most 128 tokens.

    Example:
        small_expert([("7*8", "56")]) says 56 when it is asked 7*8
    """
    said = [f"{question}\n{answer}" for question, answer in lessons]
    name = digest(
        [handaxe.__version__, torch.__version__, repr((TAUGHT, CONFIG, RATE, steps, batch_size, seed)), *said]
    )
    folder = cached("experts", f"small-{name}")
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            _taught(lessons, steps, batch_size, seed).save(Path(work) / "made")
            try:
                (Path(work) / "made").rename(folder)
            except OSError:  # made by another process meanwhile, from the same
                if not folder.exists():
                    raise
    return Policy(TinyModel.load(folder), Compact())


def _taught(lessons: Sequence[tuple[str, str]], steps: int, batch_size: int, seed: int) -> TinyModel:
    model, format = TinyModel.new(CONFIG, seed=seed), Compact()
    rng = generator("small expert", seed)
    rows = [
        (format.start([Message("user", question)], ()).ids, format.encode_turn(Message("assistant", answer), ()))
        for question, answer in lessons
    ]
    longest = max(len(asked) + len(answer) for asked, answer in rows)
    padded = [[*asked, *answer, *[model.pad_id] * (longest - len(asked) - len(answer))] for asked, answer in rows]
    ids_BT = torch.tensor(padded)
    place_T = torch.arange(longest)
    begin_B = torch.tensor([len(asked) for asked, _ in rows])
    end_B = begin_B + torch.tensor([len(answer) for _, answer in rows])
    target_BT = torch.where((place_T >= begin_B[:, None]) & (place_T < end_B[:, None]), ids_BT, -100)
    optimizer = torch.optim.AdamW(model.module.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.0)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - step / steps)
        chosen = torch.tensor(rng.integers(len(rows), size=batch_size))
        ids, target = ids_BT[chosen], target_BT[chosen]
        logits_BTV = model.head(model.hidden(ids[:, :-1], ids[:, :-1] >= 0))
        loss = F.cross_entropy(logits_BTV.flatten(0, 1), target[:, 1:].flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
