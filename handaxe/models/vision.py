"""What a transformers vision-language model needs beside text: features, embeddings, positions and masks.

Idea: the language model inside is read directly, with embeddings as its input. Ids of image tokens say which feature
stands where, so a placeholder of the vocabulary that a policy sampled never takes a feature.

A frozen tower computes the features of an image once and keeps them, up to a number of tokens. With a trained tower,
features are kept while sampling until the weights change, and a forward pass with a gradient computes each distinct
image once.

Example: `Vision(module, images).embed(ids_N, (image,))`

Shapes: N tokens, P tokens of an image, D width.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from handaxe.core.errors import InputError
from handaxe.core.images import Image, image_key, index_images, is_image_id, token_number
from handaxe.models.image_processors import ProcessorImages
from handaxe.models.vision_positions import image_blocks

__all__ = ["Embedded", "KeptImages", "Vision"]

TENSORS = ("pixel_values", "image_grid_thw", "pixel_attention_mask", "image_sizes", "batch_num_images")
"""Tensors that towers take."""


class KeptImages(NamedTuple):
    """Use of kept features.

    computed  images whose features were computed so far
    reused    times that kept features were taken instead
    tokens    image tokens whose features are kept now
    most      largest number of these
    """

    computed: int
    reused: int
    tokens: int
    most: int


class Embedded(NamedTuple):
    """Input of the language model.

    x_ND        embeddings, with features at image tokens
    features_N  bool, True where a feature stands; None without images
    deep        features that are added after the first layers, [F, D] each, in the order of their tokens
    """

    x_ND: Tensor
    features_N: Tensor | None
    deep: list[Tensor]


class _KeptFeatures:
    """LRU of features by image key, dropped when the weights change. A deep copy is empty."""

    def __init__(self, tokens: int):
        self.most, self.tokens = tokens, 0
        self.stamp: Any = None
        self.found: OrderedDict[int, list[Tensor]] = OrderedDict()

    def follow(self, stamp: Any) -> None:
        if stamp != self.stamp:
            self.stamp, self.tokens = stamp, 0
            self.found.clear()

    def get(self, key: int) -> list[Tensor] | None:
        if key in self.found:
            self.found.move_to_end(key)
        return self.found.get(key)

    def add(self, key: int, features: list[Tensor]) -> None:
        self.found[key] = features
        self.tokens += len(features[0])
        self.shrink()

    def shrink(self) -> None:
        """Drop the features that were not used for longest; those of the last image stay unless `most` is 0."""
        while self.tokens > self.most and len(self.found) > (self.most > 0):
            self.tokens -= len(self.found.popitem(last=False)[1][0])

    def __deepcopy__(self, memo: dict[int, Any]) -> _KeptFeatures:
        return _KeptFeatures(self.most)


class Vision:
    """Vision part of a transformers model of a family in `models.image_processors.FAMILIES`.

    Args:
        base: the transformers module, without a peft wrapper.
        images: its image processor.
        kept_tokens: image tokens whose features are kept; 0 keeps none.

    Attributes:
        language: the language model inside.
        grids: whether positions of image tokens are grids.
        whole_images: whether tokens of an image attend to each other in both directions.
        window: tokens that a sliding layer attends to; 0 without such layers.
        computed, reused: images whose features were computed so far, and times that kept ones were taken.
        variant: kept features are of one variant of the weights, such as without an adapter.
    """

    def __init__(self, base: Any, images: ProcessorImages, *, kept_tokens: int = 65_536):
        inner = base.model
        self.base, self.images = base, images
        self.language: Any = getattr(inner, "language_model", None) or inner.text_model
        self.config = base.config.get_text_config()
        self.grids = "mrope_section" in (getattr(self.config, "rope_parameters", None) or {})
        self.whole_images = base.config.model_type == "gemma3"
        sliding = "sliding_attention" in (getattr(self.config, "layer_types", None) or ())
        self.window = int(self.config.sliding_window) if sliding else 0
        self.variant = ""
        self.computed = 0
        self.reused = 0
        self._kept = _KeptFeatures(kept_tokens)

    @cached_property
    def parameters(self) -> dict[str, nn.Parameter]:
        """Parameters behind the pixels, by name: all but those of the language model and of the output layer."""
        outside = {id(p) for part in (self.language, self.base.get_output_embeddings()) for p in part.parameters()}
        return {name: p for name, p in self.base.named_parameters() if id(p) not in outside}

    @property
    def trained(self) -> bool:
        """Whether some parameter behind the pixels requires a gradient."""
        return any(parameter.requires_grad for parameter in self.parameters.values())

    def train(self, trained: bool) -> None:
        """Train or freeze the parameters behind the pixels. Parameters without influence on features stay frozen."""
        for parameter in self.parameters.values():
            parameter.requires_grad_(trained)
        self.freeze_unreached()

    def freeze_unreached(self) -> None:
        """Freeze trained parameters behind the pixels that no feature depends on, such as those of a pooling head."""
        trained = [parameter for parameter in self.parameters.values() if parameter.requires_grad]
        if not trained:
            return
        probe = Image.of(np.full((64, 64, 3), 128, np.uint8))
        with torch.inference_mode(False), torch.enable_grad():
            total = sum(layer.double().sum() for layer in self._compute(probe))
        self.computed -= 1
        found = torch.autograd.grad(total, trained, allow_unused=True)  # type: ignore[arg-type]
        for parameter, gradient in zip(trained, found):
            parameter.requires_grad_(gradient is not None)

    @property
    def kept(self) -> KeptImages:
        """Use of kept features so far."""
        return KeptImages(self.computed, self.reused, self._kept.tokens, self._kept.most)

    def keep(self, tokens: int) -> None:
        """Set the largest number of image tokens whose features are kept."""
        self._kept.most = tokens
        self._kept.shrink()

    # --- features ----------------------------------------------------------------------------------------------------

    def features(self, images: Sequence[Image]) -> list[list[Tensor]]:
        """Per image its features [P, D], and those for deeper layers. A repeated image is computed once."""
        grad = torch.is_grad_enabled() and self.trained
        if grad:
            fresh = {image.key: self._compute(image) for image in dict.fromkeys(images)}
            return [fresh[image.key] for image in images]
        parameters = self.parameters.values()
        first = next(iter(parameters))
        stamp = (sum(parameter._version for parameter in parameters if not parameter.is_inference()), self.variant)
        self._kept.follow((*stamp, first.device, first.dtype))
        found = []
        for image in images:
            features = self._kept.get(image.key)
            if features is None:
                with torch.inference_mode(False), torch.no_grad():
                    features = self._compute(image)
                self._kept.add(image.key, features)
            else:
                self.reused += 1
            found.append(features)
        return found

    def _compute(self, image: Image) -> list[Tensor]:
        self.computed += 1
        accepted = inspect.signature(self.base.get_image_features).parameters
        weight = self.base.get_input_embeddings().weight
        given = {name: tensor for name, tensor in self.images.tensors(image).items() if name in TENSORS}
        given = {name: tensor.to(weight.device) for name, tensor in given.items() if name in accepted}
        given["pixel_values"] = given["pixel_values"].to(self.base.dtype)
        out = self.base.get_image_features(**given, return_dict=True)
        deep = getattr(out, "deepstack_features", None) or []
        features = [_rows(out.pooler_output), *map(_rows, deep)]
        expected = int(self.images.tokens(image).features.sum())
        if len(features[0]) != expected:
            raise InputError(
                f"the model makes {len(features[0])} features of {image!r}, and its processor {expected} tokens: take "
                "the processor files of the model"
            )
        return features

    # --- input of the language model ---------------------------------------------------------------------------------

    def embed(self, ids_N: Tensor, images: Sequence[Image]) -> Embedded:
        """Embed ids, with features at image tokens.

        Raises:
            InputError: an id names an image that is not in `images`.
        """
        table = self.base.get_input_embeddings()
        ids = ids_N.cpu().numpy() if images else None
        if ids is None or not is_image_id(ids).any():
            return Embedded(table(ids_N), None, [])
        real, source = ids.copy(), np.full(len(ids), -1)
        shown, count = list[Image](), 0
        for image, at in self._by_image(ids, index_images(images)):
            tokens = self.images.tokens(image)
            number = token_number(ids[at])
            real[at] = tokens.ids[number]
            here = tokens.features[number]
            source[at[here]] = count + (np.cumsum(tokens.features) - 1)[number[here]]
            shown.append(image)
            count += int(tokens.features.sum())
        at = np.flatnonzero(source >= 0)
        real[at] = 0  # some vocabularies have no row for the id of a feature
        x_ND = table(torch.from_numpy(real).to(ids_N.device))
        index = torch.from_numpy(source[at]).to(ids_N.device)
        layers = [torch.cat(layer)[index].to(x_ND.dtype) for layer in zip(*self.features(shown))]
        features_N = torch.from_numpy(source >= 0).to(ids_N.device)
        x_ND = x_ND.index_put((torch.from_numpy(at).to(ids_N.device),), layers[0])
        return Embedded(x_ND, features_N, layers[1:])

    def grid(self, images: Mapping[int, Image], key: int) -> np.ndarray:
        """Frames, rows and columns [3] of an image in `images`, by key."""
        grid = self.images.tokens(_find(images, key)).grid
        assert grid is not None, "a model with grids has a processor with image_grid_thw"
        return grid

    def blocks(self, ids_N: np.ndarray, images: Sequence[Image]) -> np.ndarray:
        """Image tokens that attend to each other share a number, [N] int64; -1 for other tokens."""
        features_N = np.zeros(len(ids_N), bool)
        for image, at in self._by_image(ids_N, index_images(images)):
            features_N[at] = self.images.tokens(image).features[token_number(ids_N[at])]
        return image_blocks(ids_N, features_N)

    def masks(self, sees: Tensor, distance: Tensor) -> Any:
        """Additive masks for the language model, by kind of layer where it has several.

        Args:
            sees: bool [..., T, U], whether a token attends to another.
            distance: int64 [..., T, U], tokens from the attended one to the attending one.
        """
        full = _additive(sees, self.base.dtype)
        if not self.window:
            return full
        return {
            "full_attention": full,
            "sliding_attention": _additive(sees & (distance < self.window), self.base.dtype),
        }

    def _by_image(self, ids: np.ndarray, images: Mapping[int, Image]) -> list[tuple[Image, np.ndarray]]:
        """Image, and indices of its tokens, of every image among the ids."""
        at = np.flatnonzero(is_image_id(ids))
        keys = image_key(ids[at])
        return [(_find(images, int(key)), at[keys == key]) for key in np.unique(keys)]


def _find(images: Mapping[int, Image], key: int) -> Image:
    if key not in images:
        raise InputError(f"no image with the key {key} is given beside the ids")
    return images[key]


def _rows(features: Any) -> Tensor:
    """Features [P, D] of one image, which towers give as a tensor, a list or a stack."""
    parts = features if isinstance(features, list | tuple) else [features]
    return torch.cat([part.reshape(-1, part.shape[-1]) for part in parts])


def _additive(sees: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(sees.shape, dtype=dtype, device=sees.device).masked_fill_(~sees, torch.finfo(dtype).min)
