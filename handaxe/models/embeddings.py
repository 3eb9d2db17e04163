"""The table in which a policy looks its tokens up, for what compares texts by their tokens."""

from collections.abc import Callable

import numpy as np
import torch

from handaxe.core.errors import InputError
from handaxe.core.model_api import EmbeddingModel
from handaxe.core.records import Message
from handaxe.models.load import Policy

__all__ = ["embeddings"]


def embeddings(policy: Policy) -> Callable[[str], np.ndarray]:
    """Make a function that embeds a text by a policy's input table, as it is now: later training changes nothing.

        text -> ids as the policy would write them, its stop id left out -> rows of the table

    Args:
        policy: as `load` gives one.

    Returns:
        A function: text -> [n, D] float64, one row a token; [0, D] for the empty text.

    Raises:
        InputError: the model has no such table.

    Example:
        embeddings(load("tiny"))("tok") has 3 rows, one a byte, of 128 numbers each
    """
    model, form = policy
    if not isinstance(model, EmbeddingModel):
        raise InputError(f"{type(model).__name__} has no table of input embeddings: give a policy of another model")
    table_VD = model.input_table().detach().to("cpu", torch.float64, copy=True).numpy()

    def embed(text: str) -> np.ndarray:
        ids = form.encode_turn(Message("assistant", text), ()) if text else []
        return table_VD[[one for one in ids if one not in form.stop_ids]]

    return embed
