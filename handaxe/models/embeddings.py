"""Input embeddings of a policy as a text embedder, for components that compare texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.model_api import EmbeddingModel
from handaxe.core.records import Message

if TYPE_CHECKING:
    from handaxe.models.load import Policy

__all__ = ["embeddings"]


def embeddings(policy: Policy) -> Callable[[str], np.ndarray]:
    """Make a text embedder from a copy of the policy's input embeddings. Later training does not affect the copy.

        text -> ids of the text as a turn of the policy, without the stop ids -> rows of the table

    Args:
        policy: the return value of `load`.

    Returns:
        A function: text -> [n, D] float64, one row per token; [0, D] for the empty text.

    Raises:
        InputError: the model has no input embeddings.

    Example:
        embeddings(load("tiny"))("tok") has 3 rows, one per byte, of 128 numbers each
    """
    model, format = policy
    if not isinstance(model, EmbeddingModel):
        raise InputError(f"{type(model).__name__} has no input embeddings: pass a policy with another model")
    table_VD = model.input_table().detach().to("cpu", torch.float64, copy=True).numpy()

    def embed(text: str) -> np.ndarray:
        ids = format.encode_turn(Message("assistant", text), ()) if text else []
        return table_VD[[token for token in ids if token not in format.stop_ids]]

    return embed
