"""What an engine needs of a causal language model. Everything below is internal to engines and models; users load one.

Legend: B rows, T tokens, V vocabulary, D hidden width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    import torch

    from handaxe.ops.token_trees import Pack

__all__ = [
    "AdapterModel",
    "CachedModel",
    "Copying",
    "EmbeddingModel",
    "LinearHeadModel",
    "Model",
    "PaddedModel",
    "Reading",
    "RecomputingModel",
    "ShardableModel",
    "SlotCache",
    "TreeModel",
]


class Model(Protocol):
    """A causal language model as engines need it, to be measured and trained."""

    pad_id: int
    vocab_size: int
    hidden_size: int
    max_length: int

    @property
    def module(self) -> torch.nn.Module:
        """Holds the parameters."""
        ...

    def hidden(self, ids_BT: torch.Tensor, attend_BT: torch.Tensor) -> torch.Tensor:
        """Right-padded ids -> hidden states [B, T, D], what the head reads."""
        ...

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Hidden states [..., D] -> logits [..., V]; those of position t predict token t + 1."""
        ...

    def save(self, folder: Path) -> None:
        """Write weights, configuration and tokenizer so that the same class can load them."""
        ...


@runtime_checkable
class PaddedModel(Protocol):
    """What a Model offers besides to be sampled from in rounds: prompts together, token by token, until the last has
    ended. Caches are opaque to the engine."""

    max_length: int

    def prefill(self, rows: Sequence[Sequence[int]], room: int) -> tuple[torch.Tensor, Any]:
        """Logits [B, V] after each row (ragged) and a cache with room for `room` more tokens a row."""
        ...

    def decode(self, ids_B: torch.Tensor, cache: Any) -> tuple[torch.Tensor, Any]:
        """Logits [B, V] after one more token a row."""
        ...

    def keep(self, cache: Any, rows: torch.Tensor) -> Any:
        """The cache of the chosen rows (int64 index)."""
        ...


class Reading(NamedTuple):
    """A row to be read into a slot: `ids` from position 0 on, of which those from `start` on (one at least) are new."""

    slot: int
    ids: Sequence[int]
    start: int


class Copying(NamedTuple):
    """Positions [start, stop) of a slot that another slot is to have too, both of them being written to right now."""

    source: int
    target: int
    start: int
    stop: int


class SlotCache(Protocol):
    """Keys and values of rows of unequal length, each in a slot of its own, written at the row's own positions. What a
    slot holds beyond the tokens of its row is never attended to.

    Keys and values of one stretch of tokens are handed around as a list of tensors, tokens in the last but one axis.
    """

    token_bytes: int
    """Memory of one token's keys and values."""
    several: bool
    """Whether `write` and `step` take more than one token of a slot."""

    def reserve(self, slots: int, length: int) -> None:
        """Make room for this many slots and tokens each, and keep what is there."""
        ...

    def read(self, rows: Sequence[Reading], copies: Sequence[Copying]) -> torch.Tensor:
        """Logits [R, V] after each row, all of them read at once. The copies are carried out in their order."""
        ...

    def write(self, tokens: Sequence[Sequence[int]], before: Sequence[int], positions: Sequence[int]) -> torch.Tensor:
        """Logits [N, V] after each of the next tokens in each of the first S slots, slot after slot: their ids, the id
        before them, and where the first goes. A position of -1 leaves a slot alone; the logits after the one id that
        stands for it mean nothing."""
        ...

    def step(
        self,
        tokens: Sequence[Sequence[int]],
        before: Sequence[int],
        positions: Sequence[int],
        rows: Sequence[Reading],
        copies: Sequence[Copying],
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """What `write` gives for the first three and `read` for the others, None where there is nothing to do; in one
        forward where that is less work. No row is read into a slot that is written."""
        ...

    def take(self, slot: int, start: int, stop: int) -> list[torch.Tensor]:
        """A copy of the keys and values at [start, stop)."""
        ...

    def put(self, slot: int, start: int, parts: Sequence[torch.Tensor]) -> None:
        """Lay down what `take` gave."""
        ...


@runtime_checkable
class CachedModel(Protocol):
    """What a Model offers besides to be sampled from continuously, rows joining and leaving between two tokens."""

    def slots(self) -> SlotCache | None:
        """An empty cache; None when this model's attention cannot do with one."""
        ...


@runtime_checkable
class AdapterModel(Protocol):
    """What a Model offers besides when all that trains is an adapter on frozen weights (LoRA): a reference model
    that costs no copy."""

    def without_adapter(self) -> AbstractContextManager[None]:
        """The frozen weights alone, while it lasts."""
        ...


@runtime_checkable
class LinearHeadModel(Protocol):
    """What a Model offers besides when its head may be a matrix product: the vocabulary can be read in pieces."""

    def linear_head(self) -> tuple[torch.Tensor, torch.Tensor | None] | None:
        """Weight [V, D] and bias [V] or None, with which `head` is exactly hidden @ weight.T + bias; None if it is
        something else."""
        ...


@runtime_checkable
class EmbeddingModel(Protocol):
    """What a Model offers besides when the table that its ids are looked up in can be read."""

    def input_table(self) -> torch.Tensor:
        """The input embeddings [V, D], one row an id."""
        ...


@runtime_checkable
class TreeModel(Protocol):
    """What a Model offers besides when it can attend along the branches of a tree: shared prefixes are read once."""

    def reads_trees(self) -> bool:
        """Whether this model, as it is configured, does so exactly."""
        ...

    def hidden_tree(self, pack: Pack) -> torch.Tensor:
        """Hidden states [N, D]; a token's are those it has at the end of the row from its root to itself."""
        ...


@runtime_checkable
class RecomputingModel(Protocol):
    """What a Model offers besides when its layers can be computed again for the gradient instead of being kept."""

    checkpointing: bool
    """Set it to do so."""


@runtime_checkable
class ShardableModel(Protocol):
    """What a Model offers besides when its weights may be split over several processes: layers whose weights are wanted
    only while the layer is called as a module, each with itself alone. Without it all weights are gathered at once."""

    def layers(self) -> Sequence[torch.nn.Module]:
        """The layers, first to last; no parameter is in two of them, or in one and outside of all."""
        ...
