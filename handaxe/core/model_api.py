"""Protocols of causal language models. Internal to engines and models; users load a model.

Legend: B rows, T tokens, V vocabulary, D hidden width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    import torch

    from handaxe.core.images import Image
    from handaxe.ops.token_trees import Pack

__all__ = [
    "AdapterModel",
    "CachedModel",
    "Copying",
    "EmbeddingModel",
    "ImageProcessor",
    "LinearHeadModel",
    "Model",
    "PaddedModel",
    "PatchGrid",
    "Reading",
    "RecomputingModel",
    "ShardableModel",
    "SlotCache",
    "TreeModel",
    "VisionModel",
]


class Model(Protocol):
    """Causal language model, for measuring and training."""

    pad_id: int
    vocab_size: int
    hidden_size: int
    max_length: int

    @property
    def module(self) -> torch.nn.Module:
        """Module with the parameters."""
        ...

    def hidden(self, ids_BT: torch.Tensor, attend_BT: torch.Tensor, images: Sequence[Image] = ()) -> torch.Tensor:
        """Right-padded ids -> hidden states [B, T, D], the input of the head. `images` has those of the image tokens;
        a model that is no VisionModel is never given any.
        """
        ...

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Hidden states [..., D] -> logits [..., V]; position t predicts token t + 1."""
        ...

    def save(self, folder: Path) -> None:
        """Write weights, configuration and tokenizer, in the form that the same class loads."""
        ...


@runtime_checkable
class PaddedModel(Protocol):
    """Model with batched sampling: prompts together, token by token, until the last one ends. Caches are opaque to the
    engine.
    """

    max_length: int

    def prefill(
        self, rows: Sequence[Sequence[int]], room: int, images: Sequence[Image] = ()
    ) -> tuple[torch.Tensor, Any]:
        """Return logits [B, V] after each row (ragged), and a cache with room for `room` more tokens per row. `images`
        as in `Model.hidden`.
        """
        ...

    def decode(self, ids_B: torch.Tensor, cache: Any) -> tuple[torch.Tensor, Any]:
        """Return logits [B, V] after one more token per row."""
        ...

    def keep(self, cache: Any, rows: torch.Tensor) -> Any:
        """Return the cache of the chosen rows (int64 index)."""
        ...


class Reading(NamedTuple):
    """Prompt of a slot: `ids` from position 0 on. The ids from `start` on (at least one) are new. `images` has those
    of the image tokens among `ids`, and possibly others.
    """

    slot: int
    ids: Sequence[int]
    start: int
    images: Sequence[Image] = ()


class Copying(NamedTuple):
    """Copy of positions [start, stop) from slot `source` to slot `target`, while both are being written."""

    source: int
    target: int
    start: int
    stop: int


class SlotCache(Protocol):
    """Keys and values of rows of unequal length, one slot per row, written at the row's positions. Attention never
    reads a slot beyond the tokens of its row.

    A span of keys and values is passed as a list of tensors, with tokens in the second to last axis.
    """

    token_bytes: int
    """Memory of one token's keys and values."""
    several: bool
    """True if `write` and `step` accept more than one token per slot."""

    def reserve(self, slots: int, length: int) -> None:
        """Reserve this many slots and tokens per slot; existing contents stay."""
        ...

    def read(self, rows: Sequence[Reading], copies: Sequence[Copying]) -> torch.Tensor:
        """Return logits [R, V] after each row, all rows in one forward. Copies are made in order."""
        ...

    def write(self, tokens: Sequence[Sequence[int]], before: Sequence[int], positions: Sequence[int]) -> torch.Tensor:
        """Return logits [N, V] after each of the next tokens in the first S slots, slot after slot. Inputs per slot:
        token ids, the id before them, and the position of the first. Position -1 skips a slot; the logits of its
        placeholder id are meaningless.
        """
        ...

    def step(
        self,
        tokens: Sequence[Sequence[int]],
        before: Sequence[int],
        positions: Sequence[int],
        rows: Sequence[Reading],
        copies: Sequence[Copying],
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the results of `write` for the first three arguments and of `read` for the others; None for an empty
        part. Uses one forward if that is cheaper. A row is never read into a slot that is being written.
        """
        ...

    def take(self, slot: int, start: int, stop: int) -> list[torch.Tensor]:
        """Copy the keys and values at [start, stop)."""
        ...

    def put(self, slot: int, start: int, parts: Sequence[torch.Tensor]) -> None:
        """Store keys and values from `take`."""
        ...


@runtime_checkable
class CachedModel(Protocol):
    """Model with continuous batching: rows join and leave between two tokens."""

    def slots(self) -> SlotCache | None:
        """Return an empty cache; None if the model's attention does not support slots."""
        ...


@runtime_checkable
class AdapterModel(Protocol):
    """Model with only an adapter (LoRA) to train, on frozen weights: a reference model without a copy."""

    def without_adapter(self) -> AbstractContextManager[None]:
        """Context manager that disables the adapter."""
        ...


@runtime_checkable
class LinearHeadModel(Protocol):
    """Model with a linear head, for computing logits over the vocabulary in chunks."""

    def linear_head(self) -> tuple[torch.Tensor, torch.Tensor | None] | None:
        """Return weight [V, D] and bias ([V] or None) for which `head` is exactly hidden @ weight.T + bias; None for
        another kind of head.
        """
        ...


@runtime_checkable
class EmbeddingModel(Protocol):
    """Model with a readable input embedding table."""

    def input_table(self) -> torch.Tensor:
        """Input embeddings [V, D], one row per id."""
        ...


@runtime_checkable
class TreeModel(Protocol):
    """Model with tree attention: shared prefixes are computed once."""

    def reads_trees(self) -> bool:
        """Return True if the model's current configuration supports exact tree attention."""
        ...

    def hidden_tree(self, pack: Pack) -> torch.Tensor:
        """Return hidden states [N, D]; each token attends to the row from its root to itself."""
        ...


@runtime_checkable
class RecomputingModel(Protocol):
    """Model with gradient checkpointing: layers are recomputed in the backward pass instead of stored."""

    checkpointing: bool
    """Set to enable it."""


@runtime_checkable
class ShardableModel(Protocol):
    """Model with shardable layers, for splitting weights over processes. A layer's weights are read only while the
    layer is called as a module, one layer at a time. Without this protocol all weights are gathered at once.
    """

    def layers(self) -> Sequence[torch.nn.Module]:
        """Layers, first to last; layers share no parameter with each other or with the rest of the model."""
        ...


class PatchGrid(NamedTuple):
    """Places of an image's tokens on the image. A processor whose tokens are a grid has `patch_grid(image)`.

    first          number of the token of the upper left patch; the others follow row by row
    rows, columns  of patches
    width, height  of a patch, as shares of the sides of the image; the last patches may end outside of the image
    """

    first: int
    rows: int
    columns: int
    width: float
    height: float


class ImageProcessor(Protocol):
    """Tokens of one image, independent of the conversation around it. Model and chat format share one."""

    def token_ids(self, image: Image) -> list[int]:
        """Ids of the image's tokens, `image.ids(n)`; n depends on the image alone."""
        ...

    def expand(self, ids: Sequence[int], images: Mapping[int, Image]) -> list[int]:
        """Replace ids of image tokens by ids of the vocabulary, one for one. `images` by key."""
        ...

    def collapse(self, ids: Sequence[int]) -> list[int]:
        """Replace each image's run of ids by the placeholder id of the vocabulary, as a chat template writes it."""
        ...

    def describe(self) -> dict[str, Any]:
        """Kind and settings, as JSON: stored with the chat format, and compared when a run is resumed."""
        ...


@runtime_checkable
class VisionModel(Protocol):
    """Model that reads image tokens.

    trains_vision  some parameter behind the pixels requires a gradient: features are not kept over optimiser steps
    whole_images   an image must be read in one forward, since its tokens attend to each other in both directions
    """

    image_processor: ImageProcessor
    trains_vision: bool
    whole_images: bool

    def position_shift(self, ids: Sequence[int], images: Mapping[int, Image]) -> int:
        """Position of the next token less the number of tokens before it; 0 unless positions of image tokens are grids.
        `images` by key.
        """
        ...

    def image_features(self, images: Sequence[Image]) -> list[list[torch.Tensor]]:
        """Per image its features [P, D], and features for deeper layers, if any. A repeated image is computed once."""
        ...
