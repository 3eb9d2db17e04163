"""Small policy that memorizes a list of answers, trained in seconds: a cheap tool."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn import functional as F

import handaxe
from handaxe.core.records import Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import Policy
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.ops.cache_path import cache_path, content_digest
from handaxe.ops.seeds import generator

__all__ = ["small_expert"]

CONFIG = TinyConfig(width=64, layers=2, heads=2, max_length=128)
RATE = 3e-3
VERSION = 1
"""Version of the training in `_trained`, part of the cache key."""


def small_expert(pairs: Sequence[tuple[str, str]], *, steps: int = 250, batch_size: int = 64, seed: int = 0) -> Policy:
    """Train a fresh model of 0.13M parameters on question-answer pairs; the result is cached by a digest of the pairs.

    Its replies to other questions are unconstrained: its skill is a property of the model, not of a table.

    Args:
        lessons: (question, answer), each at most a line.
        steps: steps of AdamW.
        batch_size: pairs per step, drawn with replacement.
        seed: seed of weights and draws.

    Returns:
        A policy with the chat format Compact and at most 128 tokens.

    Example:
        small_expert([("7*8", "56")]) replies 56 to 7*8
    """
    texts = [f"{question}\n{answer}" for question, answer in pairs]
    name = content_digest(
        [handaxe.__version__, torch.__version__, repr((VERSION, CONFIG, RATE, steps, batch_size, seed)), *texts]
    )
    folder = cache_path("experts", f"small-{name}")
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            _trained(pairs, steps, batch_size, seed).save(Path(work) / "made")
            try:
                (Path(work) / "made").rename(folder)
            except OSError:  # another process made the same folder
                if not folder.exists():
                    raise
    return Policy(TinyModel.load(folder), Compact())


def _trained(pairs: Sequence[tuple[str, str]], steps: int, batch_size: int, seed: int) -> TinyModel:
    model, format = TinyModel.new(CONFIG, seed=seed), Compact()
    rng = generator("small expert", seed)
    rows = [
        (format.start([Message("user", question)], ()).ids, format.encode_turn(Message("assistant", answer), ()))
        for question, answer in pairs
    ]
    longest = max(len(prompt) + len(answer) for prompt, answer in rows)
    padded = [[*prompt, *answer, *[model.pad_id] * (longest - len(prompt) - len(answer))] for prompt, answer in rows]
    ids_BT = torch.tensor(padded)
    place_T = torch.arange(longest)
    begin_B = torch.tensor([len(prompt) for prompt, _ in rows])
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
