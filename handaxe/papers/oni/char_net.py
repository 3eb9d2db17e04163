"""Convolution over the bytes of a message, with one output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from handaxe.core.deferred import torch
from handaxe.ops.seeds import generator

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["CharNet"]

LENGTH = 160
"""Bytes of a message that are read."""
PAD = 256
WIDTH = 5
EMBEDDED, CHANNELS = 8, 32


class CharNet:
    """Score of a message: embedded bytes, a convolution of 5 bytes, the maximum over places, a linear layer.

        s = w . max_p relu(sum_j K_j e(byte_{p + j}) + b) + c

    Args:
        learning_rate: of Adam, which starts again in each `fit`.
        seed: of the initialization; torch's random state is not used.

    Example:
        net.fit(["+key", "walls"], loss, steps=20); net.scores(["+key"]) -> [1.3]

    Paper: arXiv:2410.23022 (ONI), the network of characters of its classifier and of its ranking reward.
    Unconfirmed: sizes and layers.
    """

    def __init__(self, *, learning_rate: float = 1e-2, seed: int = 0):
        rng = generator("char net", seed)
        fan = EMBEDDED * WIDTH
        made = {
            "embedding": rng.normal(size=(PAD + 1, EMBEDDED)),
            "kernel": rng.normal(size=(CHANNELS, EMBEDDED, WIDTH)) / np.sqrt(fan),
            "bias": np.zeros(CHANNELS),
            "last": rng.normal(size=CHANNELS) / np.sqrt(CHANNELS),
            "constant": np.zeros(1),
        }
        self._weights = {name: torch.from_numpy(value) for name, value in made.items()}
        self._learning_rate = learning_rate

    def scores(self, messages: Sequence[str]) -> np.ndarray:
        """[M] scores."""
        if not messages:
            return np.zeros(0)
        with torch.no_grad():
            return np.asarray(self._output(_bytes(messages)).numpy(), np.float64)

    def fit(self, batches: Sequence[tuple[Sequence[str], Callable[[Tensor], Tensor]]]) -> float:
        """Take one step of Adam for each batch.

        Args:
            batches: messages [M], and loss of their scores [M].

        Returns:
            The mean loss of the batches before their steps.
        """
        own = {name: value.clone().requires_grad_() for name, value in self._weights.items()}
        self._weights = own
        optimizer = torch.optim.Adam(list(own.values()), lr=self._learning_rate)
        losses = []
        for messages, loss in batches:
            optimizer.zero_grad()
            value = loss(self._output(_bytes(messages)))
            value.backward()
            optimizer.step()
            losses.append(float(value.detach()))
        self._weights = {name: value.detach() for name, value in own.items()}
        return float(np.mean(losses)) if losses else 0.0

    def state_dict(self) -> dict[str, Any]:
        return {name: value.clone() for name, value in self._weights.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._weights = {name: value.clone() for name, value in state.items()}

    def _output(self, ids_ML: Tensor) -> Tensor:
        own = self._weights
        embedded_MEL = own["embedding"][ids_ML].transpose(1, 2)
        out_MCL = torch.relu(torch.nn.functional.conv1d(embedded_MEL, own["kernel"], own["bias"]))
        there_ML = ids_ML[:, : out_MCL.shape[2]] != PAD
        there_ML[:, 0] = True
        top_MC = torch.where(there_ML[:, None], out_MCL, 0.0).amax(2)
        return top_MC @ own["last"] + own["constant"]


def _bytes(messages: Sequence[str]) -> Tensor:
    """[M, L] bytes, padded to the longest message and by one window."""
    data = [one.encode()[:LENGTH] for one in messages]
    ids_ML = np.full((len(data), max(1, *map(len, data)) + WIDTH - 1), PAD, np.int64)
    for row, own in zip(ids_ML, data, strict=True):
        row[: len(own)] = list(own)
    return torch.from_numpy(ids_ML)
