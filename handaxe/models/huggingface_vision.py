"""transformers vision-language models: rows, trees and cached decoding of ids with images among them.

The ids of a row are embedded by `models.vision.Vision`, and the language model inside is called with embeddings,
positions and, where tokens are cached or an image is read in both directions, a mask for each pair of tokens.

Shapes: B rows, T tokens, N tokens of trees, S slots, U attended tokens, D width.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from handaxe.core.images import Image, index_images
from handaxe.models.adapter_base import Base
from handaxe.models.huggingface import AdaptedModel, HuggingFaceModel
from handaxe.models.image_processors import ProcessorImages
from handaxe.models.layer_override import checkpoint_layers
from handaxe.models.trunk import Trunk
from handaxe.models.vision import Embedded, Vision
from handaxe.models.vision_cache import VisionSlots
from handaxe.models.vision_positions import grid_positions
from handaxe.ops.token_trees import Pack

__all__ = ["AdaptedVisionModel", "HuggingFaceVisionModel", "VisionTrunk", "language_targets"]


class VisionTrunk(Trunk):
    """Forward passes with images; implements `core.model_api.VisionModel`.

    Attributes:
        image_processor: shared with the chat format.
        vision: features, embeddings and masks.
    """

    image_processor: ProcessorImages
    vision: Vision

    @property
    def trains_vision(self) -> bool:
        """Whether some parameter behind the pixels requires a gradient."""
        return self.vision.trained

    @property
    def whole_images(self) -> bool:
        """Whether an image must be read in one forward pass."""
        return self.vision.whole_images

    def position_shift(self, ids: Sequence[int], images: Mapping[int, Image]) -> int:
        """Position of the next token less the number of tokens before it; 0 unless positions of images are grids."""
        if not self.vision.grids:
            return 0
        array = np.asarray([*ids, 0], np.int64)
        position_3N = self._positions(array, np.arange(len(array)), np.full(len(array), len(ids)), images)
        return int(position_3N[0, -1]) - len(ids)

    def keep_features(self, tokens: int) -> None:
        """Set the largest number of image tokens whose features are kept; 0 keeps none."""
        self.vision.keep(tokens)

    def image_features(self, images: Sequence[Image]) -> list[list[Tensor]]:
        """Per image its features [P, D], and features for deeper layers, if any. A repeated image is computed once."""
        return self.vision.features(images)

    def hidden(self, ids_BT: Tensor, attend_BT: Tensor, images: Sequence[Image] = ()) -> Tensor:
        """Compute the last hidden states [B, T, D] of right-padded ids, with the images among them."""
        del attend_BT
        embedded = self.vision.embed(ids_BT.flatten(), images)
        rows, width = ids_BT.shape
        column_T = torch.arange(width, device=ids_BT.device)
        position, mask = column_T.expand(rows, width), None
        if embedded.features_N is not None:
            ids_N = ids_BT.flatten().cpu().numpy()
            if self.vision.grids:
                depth_N = np.tile(np.arange(width), rows)
                last_N = np.repeat(np.arange(1, rows + 1) * width - 1, width)
                position = self._grid_positions(ids_N, depth_N, last_N, images, ids_BT.device).view(3, rows, width)
            if self.vision.whole_images:
                block_N = torch.from_numpy(self.vision.blocks(ids_N, images)).to(ids_BT.device)
                distance_TU = column_T[:, None] - column_T
                sees_BTU = (distance_TU >= 0) | _same_block(block_N.view(rows, width))
                mask = self.vision.masks(sees_BTU[:, None], distance_TU)
        return self.run_language(embedded, ids_BT.shape, position, mask)

    def reads_trees(self) -> bool:
        """Check support of token trees: a comparison of rows and a small tree of text, once per model."""
        if self._trees is None:
            self._trees = self._probe(self._hidden_masked)
        return self._trees

    def _hidden_masked(self, pack: Pack) -> Tensor:
        embedded = self.vision.embed(pack.ids_N, pack.images)
        position, sees_NN = pack.depth_N[None], pack.attend_NN
        if embedded.features_N is not None:
            ids_N = pack.ids_N.cpu().numpy()
            if self.vision.grids:
                depth_N = pack.depth_N.cpu().numpy()
                position = self._grid_positions(ids_N, depth_N, pack.last_N, pack.images, pack.ids_N.device)[:, None]
            if self.vision.whole_images:
                block_N = torch.from_numpy(self.vision.blocks(ids_N, pack.images)).to(pack.ids_N.device)
                sees_NN = sees_NN | _same_block(block_N)
        mask = self.vision.masks(sees_NN[None, None], pack.depth_N[:, None] - pack.depth_N)
        return self.run_language(embedded, (1, len(pack)), position, mask)[0]

    def run_language(
        self, embedded: Embedded, shape: Sequence[int], position: Tensor, mask: Any, cache: Any = None
    ) -> Tensor:
        """Compute the last hidden states [B, T, D].

        Args:
            embedded: of B * T tokens.
            shape: B and T.
            position: [B, T], or [3, B, T] for grids.
            mask: of `Vision.masks`; None is causal.
            cache: a transformers KV cache.
        """
        more: dict[str, Any] = {"use_cache": cache is not None}
        if embedded.deep and embedded.features_N is not None:
            more |= {"visual_pos_masks": embedded.features_N.view(*shape), "deepstack_visual_embeds": embedded.deep}
        if cache is not None:
            more[self.cache_name()] = cache
        layers = self.layers() if self.checkpointing and torch.is_grad_enabled() else []
        with checkpoint_layers(layers):
            out = self.vision.language(
                inputs_embeds=embedded.x_ND.view(*shape, -1), position_ids=position, attention_mask=mask, **more
            )
        hidden_BTD: Tensor = out.last_hidden_state
        return hidden_BTD

    def cache_name(self) -> str:
        """Return the name of the KV cache in the language model's arguments."""
        accepts = "cache" in inspect.signature(self.vision.language.forward).parameters
        return "cache" if accepts else "past_key_values"

    def layers(self) -> list[nn.Module]:
        """Return the layers in order, including a trained tower."""
        if self.vision.trained:
            return super().layers()
        inside = {id(part) for part in self.vision.language.modules()}
        return [layer for layer in super().layers() if id(layer) in inside]

    def _positions(
        self, ids_N: np.ndarray, depth_N: np.ndarray, last_N: np.ndarray, images: Mapping[int, Image]
    ) -> np.ndarray:
        return grid_positions(ids_N, depth_N, last_N, lambda key: self.vision.grid(images, key))

    def _grid_positions(
        self,
        ids_N: np.ndarray,
        depth_N: np.ndarray,
        last_N: np.ndarray,
        images: Sequence[Image],
        device: torch.device,
    ) -> Tensor:
        """Positions [3, N] on a device."""
        return torch.from_numpy(self._positions(ids_N, depth_N, last_N, index_images(images))).to(device)


class HuggingFaceVisionModel(VisionTrunk, HuggingFaceModel):
    """Vision-language model; implements `core.model_api.Model` and `core.model_api.VisionModel`.

    `models.huggingface.load_pretrained` makes instances.

    Args:
        module: of a family in `models.image_processors.FAMILIES`, or a peft model around one.
        images: its image processor.
    """

    def __init__(self, module: Any, images: ProcessorImages):
        super().__init__(module, images.processor.tokenizer)
        self.image_processor = images
        if grids := getattr(images.processor.image_processor, "image_grid_pinpoints", None):
            self._base().config.image_grid_pinpoints = grids  # the model counts the tiles of an image by these
        self.vision = Vision(self._base(), images)

    def slots(self) -> VisionSlots | None:  # type: ignore[override]
        """Make an empty slot cache for continuous batching."""
        return VisionSlots(self, self.max_length)

    def save(self, folder: Path) -> None:
        """Write weights, configuration, processor and tokenizer files, for `load_pretrained`."""
        super().save(folder)
        self.image_processor.save(folder)


class AdaptedVisionModel(HuggingFaceVisionModel, AdaptedModel):
    """Vision-language model with a LoRA adapter as the only trainable part.

    Args:
        module: a peft model.
        images: as in HuggingFaceVisionModel.
        base: as in AdaptedModel.
    """

    def __init__(self, module: Any, images: ProcessorImages, *, base: Base | None = None):
        super().__init__(module, images)
        self.base = base

    @contextmanager
    def without_adapter(self) -> Iterator[None]:
        """Disable the adapter inside the context, that of the vision tower included."""
        before = self.vision.variant
        if self.vision.trained:
            self.vision.variant = "without adapter"
        try:
            with super().without_adapter():
                yield
        finally:
            self.vision.variant = before

    def save_merged(self, folder: Path) -> None:
        """Write a model with the adapter merged into the weights, for serving."""
        super().save_merged(folder)
        self.image_processor.save(folder)


def _same_block(block_BT: Tensor) -> Tensor:
    """True where two tokens are features of one image, [..., T, T]."""
    return (block_BT[..., :, None] == block_BT[..., None, :]) & (block_BT >= 0)[..., None]


def language_targets(module: Any, targets: Any) -> Any:
    """Modules of the language model for an adapter, as a regular expression of peft.

    Args:
        module: a transformers vision-language model.
        targets: "all-linear", or a list of names as peft takes; a regular expression is returned unchanged.
    """
    names = {id(part): name for name, part in module.named_modules()}
    language = getattr(module.model, "language_model", None) or module.model.text_model
    if targets == "all-linear":
        linear = {name.rpartition(".")[2] for name, part in language.named_modules() if isinstance(part, nn.Linear)}
        targets = sorted(linear)
    if isinstance(targets, str):
        return targets
    return rf"{re.escape(names[id(language)])}\.(.*\.)?({'|'.join(map(re.escape, targets))})"
