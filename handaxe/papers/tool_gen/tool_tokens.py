"""One id of the vocabulary for each tool, with the mean embedding of the pieces of its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch

from handaxe.core.errors import InputError
from handaxe.models.tiny import TinyModel, TinyNet

__all__ = ["add_tool_tokens"]

STD = 0.05
"""Standard deviation of random rows, as in a new `TinyNet`."""


def add_tool_tokens(
    model: TinyModel, spellings: Sequence[Sequence[int]], *, start: Literal["mean", "random"] = "mean", seed: int = 0
) -> TinyModel:
    """Copy a model with further ids, one for each spelling, after the last id.

        e_new = 1 / n sum_k e(s_k)        for the ids s_1 to s_n of the spelling, in both input tables

    The output layer is tied to the input embeddings, so the new rows are rows of both.

    Args:
        model: unchanged.
        spellings: ids of a text for each new token, at least one each.
        start: "mean", or "random" for normal rows.
        seed: of random rows.

    Returns:
        A model whose id V + k stands for spelling k; V is the old number of ids. Logits of old ids are unchanged.

    Raises:
        InputError: an empty spelling, or an id out of range.

    Example:
        e("QR") = [1, 3] and e("check") = [3, 1]  ->  the row of the tool is [2, 2]

    Paper: arXiv:2410.03439 (ToolGen), tool virtualization: atomic indexing.
    Differs: input and output rows are one parameter.
    """
    old = model.module
    size = old.config.vocab_size
    if not all(own and min(own) >= 0 and max(own) < size for own in spellings):
        raise InputError(f"a spelling has 1 id or more, each below {size}")
    grown = TinyNet(replace(old.config, vocab_size=size + len(spellings)))
    state = {name: weight.clone() for name, weight in old.state_dict().items()}
    rng = torch.Generator().manual_seed(seed)
    for name in ("embed.weight", "embed_before.weight"):
        table_VD = state[name]
        if start == "mean":
            rows = [table_VD[torch.tensor(list(own))].mean(dim=0) for own in spellings]
        else:
            rows = [torch.randn(table_VD.shape[1], generator=rng, dtype=table_VD.dtype) * STD for _ in spellings]
        state[name] = torch.cat([table_VD, torch.stack(rows)]) if rows else table_VD
    grown.load_state_dict(state)
    return TinyModel(grown, pad_id=model.pad_id, pieces=model.pieces)
