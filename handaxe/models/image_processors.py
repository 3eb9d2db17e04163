"""Image processors of transformers vision-language models, asked about one image alone.

The processor makes of an image the ids that stand for it and the tensors of the vision tower:

    "<fake_token_around_image><row_1_col_1><image><image>..."   ids of the vocabulary; `features` marks those of <image>
    pixel_values, image_grid_thw, ...                           tensors

The number of tokens then depends on the image alone, so a later turn never changes an earlier one. (LLaVA-OneVision's
own call gives an image fewer tokens if a conversation has two.) Tensors are kept by image key, up to a number of bytes.

Processors run on Pillow and numpy; torchvision is not used.
"""

from __future__ import annotations

import copy
import inspect
import json
import math
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import import_pillow
from handaxe.core.images import Image, image_key, is_image_id, token_number
from handaxe.core.model_api import PatchGrid
from handaxe.models.image_limits import limit_pixels

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["FAMILIES", "ImageTokens", "ProcessorImages", "load_image_processor", "make_processor"]

FAMILIES = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "smolvlm", "idefics3", "gemma3", "internvl", "llava_onevision")
"""Values of `model_type` in config.json."""
VIDEO_PROCESSORS = {
    "qwen2_vl": "Qwen2VLVideoProcessor",
    "qwen2_5_vl": "Qwen2VLVideoProcessor",
    "qwen3_vl": "Qwen3VLVideoProcessor",
    "smolvlm": "SmolVLMVideoProcessor",
    "internvl": "InternVLVideoProcessor",
    "llava_onevision": "LlavaOnevisionVideoProcessor",
}
"""Class of the processor of videos by family; without torchvision, transformers does not tell it."""
LOCKED = ("_ids", "_tensors", "_lock", "_bytes")
SETTINGS = ("image_seq_len", "image_seq_length", "num_image_tokens", "patch_size", "vision_feature_select_strategy")
"""Attributes of processors that decide the number of tokens."""
UNSET = ("image_processor_type", "processor_class", "_processor_class", "auto_map", "return_tensors")


class ImageTokens(NamedTuple):
    """Tokens of an image.

    digest    of the image
    ids       [P] int64 ids of the vocabulary
    features  [P] bool, True where a feature stands
    grid      [3] int64 frames, rows and columns of the features; None for a model that numbers tokens one by one
    """

    digest: str
    ids: np.ndarray
    features: np.ndarray
    grid: np.ndarray | None


class ProcessorImages:
    """Image processor of a transformers model; implements `core.model_api.ImageProcessor`.

    Args:
        processor: of a family in `FAMILIES`, with its tokenizer; `load_image_processor` makes one.
        kept_bytes: bytes of tensors that are kept.
        video: settings of the model's processor of videos, which `save` writes; None for the defaults of the family.

    Attributes:
        tokenizer: of the processor.
        placeholder: text of an image in a chat template.
        placeholder_id: its id.
        vocabulary_ids: ids of the vocabulary that a policy must not sample: of the placeholder and of a feature.
        family: one of `FAMILIES`.

    Raises:
        InputError: the placeholder is no single token of the tokenizer.

    Example:
        ProcessorImages(processor).token_ids(image) -> [4611686018427387904, ...]
    """

    def __init__(self, processor: Any, *, kept_bytes: int = 268_435_456, video: Mapping[str, Any] | None = None):
        self.processor = processor
        self.kept_bytes = kept_bytes
        self.video = video
        self.tokenizer = tokenizer = processor.tokenizer
        self.placeholder: str = processor.image_token
        feature, placeholder = processor.image_token_ids[0], tokenizer.convert_tokens_to_ids(self.placeholder)
        if feature is None or placeholder in (None, tokenizer.unk_token_id):
            raise InputError(
                f"the tokenizer has no token {self.placeholder}, which stands for an image: take the tokenizer files "
                "of the model"
            )
        self.placeholder_id, self._feature_id = int(placeholder), int(feature)
        self.vocabulary_ids = frozenset({self.placeholder_id, self._feature_id})
        self.family = next(name for name in FAMILIES if _class_name(name) == type(processor).__name__)
        merged = processor._merge_kwargs(processor.valid_processor_kwargs)["images_kwargs"]
        self._options = {name: value for name, value in merged.items() if name != "return_tensors"}
        # Gemma 3 takes a list of images for each conversation.
        self._nested = "gemma3" in type(processor.image_processor).__module__
        self._forget()

    def token_ids(self, image: Image) -> list[int]:
        """Ids of the image's tokens, `image.ids(n)`. Raises InputError for an image that the processor refuses."""
        return image.ids(len(self.tokens(image).ids))

    def expand(self, ids: Sequence[int], images: Mapping[int, Image]) -> list[int]:
        """Replace ids of image tokens by ids of the vocabulary, one for one. `images` by key.

        Raises:
            InputError: an image is not in `images`.
        """
        out = []
        for token in ids:
            if is_image_id(token):
                image = images.get(image_key(token))
                if image is None:
                    raise InputError(f"no image with the key {image_key(token)} is given beside the ids")
                token = int(self.tokens(image).ids[token_number(token)])
            out.append(int(token))
        return out

    def collapse(self, ids: Sequence[int]) -> list[int]:
        """Replace each image's run of ids by the placeholder id, as a chat template writes it."""
        return [
            self.placeholder_id if is_image_id(token) else int(token)
            for token in ids
            if not (is_image_id(token) and token_number(token))
        ]

    def describe(self) -> dict[str, Any]:
        """Kind and settings, as JSON."""
        own = self.processor.image_processor.to_dict()
        settings = {name: value for name, value in own.items() if value is not None and name not in UNSET}
        settings |= {name: value for name in SETTINGS if (value := getattr(self.processor, name, None)) is not None}
        kind = type(self.processor.image_processor).__name__
        found: dict[str, Any] = json.loads(
            json.dumps({"family": self.family, "kind": kind, **dict(sorted(settings.items()))}, default=str)
        )
        return found

    def tokens(self, image: Image) -> ImageTokens:
        """Tokens of an image. Raises InputError for an image that the processor refuses, or if another image has the
        same key."""
        found = self._ids.get(image.key)
        if found is None:
            found, tensors = self._process(image)
            self._keep(image, found, tensors)
        if found.digest != image.digest:
            raise InputError(
                f"the images {image.digest} and {found.digest} share the key {image.key}: change one of them"
            )
        return found

    def patch_grid(self, image: Image) -> PatchGrid | None:
        """Places of the tokens on the image; None for an image in tiles."""
        _, features, grid = self.tokens(image)[1:]
        places = np.flatnonzero(features)
        if grid is not None and grid[0] == 1:
            rows, columns = int(grid[1]), int(grid[2])
        elif self.family == "gemma3":
            rows = columns = math.isqrt(len(places))
        else:
            return None
        if rows * columns != len(places) or places[-1] - places[0] + 1 != len(places):
            return None
        return PatchGrid(int(places[0]), rows, columns, 1 / columns, 1 / rows)

    def scale(self, image: Image) -> float:
        """Factor by which a side is resized: 0.5 if half of the pixels of a side are left, 2 if they are doubled.

        Of an image in tiles, all tiles count, with their padding and the whole image beside them.
        """
        pixels = self.tensors(image)["pixel_values"].numel() / 3
        frames = int(getattr(self.processor.image_processor, "temporal_patch_size", 1))
        return math.sqrt(pixels / frames / (image.width * image.height))

    def tensors(self, image: Image) -> dict[str, Tensor]:
        """Tensors of the vision tower for an image, on the CPU, in float32 or int64."""
        self.tokens(image)
        with self._lock:
            found = self._tensors.get(image.key)
            if found is not None:
                self._tensors.move_to_end(image.key)
                return found
        tokens, found = self._process(image)
        self._keep(image, tokens, found)
        return found

    def save(self, folder: Path) -> None:
        """Write the files of the processor and its tokenizer, with a part for videos, which `AutoProcessor` reads."""
        self.processor.save_pretrained(folder)
        name = VIDEO_PROCESSORS.get(self.family)
        if video := self.video or ({"video_processor_type": name} if name else {}):
            file = folder / "processor_config.json"
            file.write_text(
                json.dumps(json.loads(file.read_text()) | {"video_processor": dict(video)}, indent=2) + "\n"
            )

    def with_tokenizer(self, tokenizer: PreTrainedTokenizerBase) -> ProcessorImages:
        """The same processor with another tokenizer and its chat template."""
        processor = copy.copy(self.processor)
        processor.tokenizer, processor.chat_template = tokenizer, tokenizer.chat_template
        return ProcessorImages(processor, kept_bytes=self.kept_bytes, video=self.video)

    def __deepcopy__(self, memo: dict[int, Any]) -> ProcessorImages:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in LOCKED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def _forget(self) -> None:
        self._ids: dict[int, ImageTokens] = {}
        self._tensors: OrderedDict[int, dict[str, Tensor]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def _keep(self, image: Image, tokens: ImageTokens, tensors: dict[str, Tensor]) -> None:
        with self._lock:
            self._ids[image.key] = tokens
            if image.key in self._tensors:
                return
            self._tensors[image.key] = tensors
            self._bytes += _size(tensors)
            while self._bytes > self.kept_bytes and len(self._tensors) > 1:
                self._bytes -= _size(self._tensors.popitem(last=False)[1])

    def _process(self, image: Image) -> tuple[ImageTokens, dict[str, Tensor]]:
        pixels: Any = [image.pillow()]
        try:
            made, (text,) = self.processor._process_images(
                [pixels] if self._nested else pixels, **self._options, return_tensors="pt"
            )
        except (ValueError, ZeroDivisionError, IndexError) as error:
            size = f"{image.width} by {image.height}"
            raise InputError(f"the model's processor refuses an image of {size} pixels: {error}") from error
        ids = np.array(self.processor.tokenizer(text, add_special_tokens=False)["input_ids"], np.int64)
        tensors = {name: tensor for name, value in made.items() if (tensor := _tensor(value)) is not None}
        grid = tensors.get("image_grid_thw")
        rows = None if grid is None else grid[0].numpy() // (1, self._merge, self._merge)
        return ImageTokens(image.digest, ids, ids == self._feature_id, rows), tensors

    @property
    def _merge(self) -> int:
        return int(getattr(self.processor.image_processor, "merge_size", 1))


def _tensor(value: Any) -> Tensor | None:
    """One tensor of what a processor gives: a tensor, a list of tensors or numbers; None for another value."""
    if isinstance(value, Tensor):
        return value
    try:
        if isinstance(value, list) and value and isinstance(value[0], Tensor | np.ndarray):
            return torch.stack([torch.as_tensor(part) for part in value])
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def _size(tensors: Mapping[str, Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors.values())


def load_image_processor(
    source: str | Path,
    tokenizer: PreTrainedTokenizerBase,
    family: str,
    *,
    trust_remote_code: bool = False,
    max_pixels: int = 0,
) -> ProcessorImages:
    """Load the processor of a vision-language model, without its part for video (which needs torchvision).

    Args:
        source: folder or name on the hub.
        tokenizer: of the model; gets the chat template of the processor, if the processor has one.
        family: one of `FAMILIES`.
        trust_remote_code: run code of the folder.
        max_pixels: of an image after resizing, all tiles together; 0 for the limits of the processor.

    Raises:
        InputError: no such processor, Pillow is missing, or no image has so few pixels.
    """
    import_pillow()
    from transformers import AutoImageProcessor, ProcessorMixin

    try:
        images = AutoImageProcessor.from_pretrained(source, backend="pil", trust_remote_code=trust_remote_code)
        settings, _ = ProcessorMixin.get_processor_dict(source)
        video = settings.pop("video_processor", None)
        processor = make_processor(family, images, tokenizer, settings)
    except (OSError, ValueError, ImportError, TypeError, KeyError) as error:
        raise InputError(f"transformers cannot load an image processor from {source}: {error}") from error
    if max_pixels:
        limit_pixels(processor, family, max_pixels)
    if processor.chat_template is not None:
        tokenizer.chat_template = processor.chat_template
    return ProcessorImages(processor, video=video)


def make_processor(
    family: str, images: Any, tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any] | None = None
) -> Any:
    """Make a transformers processor without its part for video.

    Args:
        family: one of `FAMILIES`.
        images: image processor of transformers.
        tokenizer: of the model.
        settings: fields of processor_config.json.
    """
    from transformers.models.auto.processing_auto import processor_class_from_name

    kind = _without_video(processor_class_from_name(_class_name(family)))
    return kind.from_args_and_dict([images, tokenizer, None][: _parts(kind)], dict(settings or {}))


def _class_name(family: str) -> str:
    """Name of the processor class of a family."""
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    name = PROCESSOR_MAPPING_NAMES[family]
    return name if isinstance(name, str) else name[0]


def _parts(kind: Any) -> int:
    """Number of parts that a processor is made of: image processor, tokenizer, and for most a video processor."""
    return 3 if "video_processor" in inspect.signature(kind.__init__).parameters else 2


def _without_video(kind: Any) -> Any:
    """Subclass of a processor class, of the same name, that has no video processor."""

    class ImagesOnly(kind):  # type: ignore[misc]
        @classmethod
        def get_attributes(cls) -> list[str]:
            return ["image_processor", "tokenizer"]

        def __reduce__(self) -> tuple[Any, ...]:
            return _restore, (kind, self.__dict__)

    ImagesOnly.__name__ = ImagesOnly.__qualname__ = kind.__name__
    module = sys.modules[kind.__module__]
    if getattr(module, "num2words", str) is None:
        module.num2words = str  # type: ignore[attr-defined]  # SmolVLM writes numbers of frames of videos in words
    return ImagesOnly


def _restore(kind: Any, state: dict[str, Any]) -> Any:
    new = _without_video(kind)
    processor = new.__new__(new)
    processor.__dict__.update(state)
    return processor
