"""What an engine needs of a causal language model. Everything below is internal to engines and models; users load one.

Legend: B rows, T tokens, V vocabulary, D hidden width.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    import torch

__all__ = ["AdapterModel", "Model"]


class Model(Protocol):
    """A causal language model as engines need it. Caches are opaque to the engine."""

    pad_id: int
    vocab_size: int
    hidden_size: int
    max_length: int

    @property
    def module(self) -> torch.nn.Module:
        """Holds the parameters."""
        ...

    def forward(self, ids_BT: torch.Tensor, attend_BT: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Right-padded ids -> logits [B, T, V] (position t predicts token t + 1) and hidden states [B, T, D]."""
        ...

    def prefill(self, rows: List[List[int]], room: int) -> tuple[torch.Tensor, Any]:
        """Logits [B, V] after each row (ragged) and a cache with room for `room` more tokens a row."""
        ...

    def decode(self, ids_B: torch.Tensor, cache: Any) -> tuple[torch.Tensor, Any]:
        """Logits [B, V] after one more token a row."""
        ...

    def keep(self, cache: Any, rows: torch.Tensor) -> Any:
        """The cache of the chosen rows (int64 index)."""
        ...

    def save(self, folder: Path) -> None:
        """Write weights, configuration and tokenizer so that the same class can load them."""
        ...


@runtime_checkable
class AdapterModel(Protocol):
    """What a Model offers besides when all that trains is an adapter on frozen weights (LoRA): a reference model
    that costs no copy."""

    def without_adapter(self) -> AbstractContextManager[None]:
        """The frozen weights alone, while it lasts."""
        ...
