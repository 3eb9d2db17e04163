"""Quantization of frozen linear layers, for LoRA on a base with 4 or 8 bits a weight.

    no GPU   torchao (extra [quantize]). 8bit: a scale for each row. 4bit: a scale for each 32 weights; torchao's CPU
             layout holds a 4-bit value in a byte, so the memory is that of 8bit.
    GPU      bitsandbytes (extra [bitsandbytes]): LLM.int8 and NF4.

Embeddings, norms and the output layer keep their dtype, and so do vision tower and projector of a vision-language
model. bitsandbytes is not used on the CPU: its 4-bit product for the CPU (0.50) has no gradient.
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from handaxe.core.errors import InputError

__all__ = [
    "BITS",
    "Bits",
    "check_bits",
    "is_quantized",
    "merge_quantized",
    "quantize_linear_layers",
    "quantized_bits",
    "quiet_torchao",
]

Bits = Literal["4bit", "8bit"]
BITS: tuple[Bits, ...] = ("4bit", "8bit")
GROUP = 32
"""Weights with a common scale in 4-bit quantization of torchao."""
QUANTIZED = "handaxe_quantized"
"""Attribute of a quantized module: the bits."""


def check_bits(bits: str) -> None:
    """Raise InputError for an unknown number of bits."""
    if bits not in BITS:
        raise InputError(f"quantize is {bits!r}; give {' or '.join(BITS)}")


def is_quantized(module: Any) -> bool:
    """Whether `quantize_linear_layers` quantized the module, or the base of the peft module."""
    return bool(quantized_bits(module))


def quantized_bits(module: Any) -> str:
    """Return "4bit" or "8bit" for a module that `quantize_linear_layers` quantized, "" for others."""
    return str(getattr(module.get_base_model() if hasattr(module, "get_base_model") else module, QUANTIZED, ""))


def quantize_linear_layers(module: Any, bits: str) -> None:
    """Quantize the linear layers of a transformers model in place, except the output layer; freezes all weights.

    Args:
        module: a causal or a vision-language model on the CPU; of the second, the layers of its language model are
            quantized. bitsandbytes moves the model to the GPU.
        bits: "4bit" or "8bit".

    Raises:
        InputError: the extra is missing, or `bits` is unknown.
    """
    check_bits(bits)
    module.requires_grad_(False)
    head = module.get_output_embeddings()
    inner = getattr(module, "model", module)
    language = getattr(inner, "language_model", None) or getattr(inner, "text_model", None) or module
    chosen = [part for part in language.modules() if type(part) is nn.Linear and part is not head]
    if torch.cuda.is_available():
        _quantize_on_gpu(module, chosen, bits)
    else:
        _quantize_on_cpu(module, chosen, bits)
    setattr(module, QUANTIZED, bits)


def _quantize_on_cpu(module: nn.Module, chosen: list[nn.Linear], bits: str) -> None:
    torchao = _import_torchao()
    layers = {id(part) for part in chosen}
    if bits == "8bit":
        config = torchao.Int8WeightOnlyConfig()
    else:
        config = torchao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=torchao.PerGroup(GROUP))  # type: ignore[attr-defined]
        if odd := [part.in_features for part in chosen if part.in_features % GROUP]:
            raise InputError(f"4bit needs layers of a multiple of {GROUP} inputs, and one has {odd[0]}: use 8bit")

    def is_chosen(part: nn.Module, name: str) -> bool:
        del name
        return id(part) in layers

    torchao.quantize_(module, config, filter_fn=is_chosen)


def _import_torchao() -> Any:
    try:
        with quiet_torchao():
            import torchao.quantization as found
    except ImportError as error:
        raise InputError(
            'quantized weights need the extra [quantize] on the CPU; install it with: pip install "handaxe[quantize]"'
        ) from error
    return found


@contextmanager
def quiet_torchao() -> Iterator[None]:
    """Context manager: silence the import of torchao, which reports kernels that the torch build lacks, and the warning
    of peft that its own merge does not work; `merge_quantized` merges."""
    quiet = [logging.getLogger(name) for name in ("torchao", "torch.utils._pytree")]
    levels = [logger.level for logger in quiet]
    for logger in quiet:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="TorchaoLoraLinear was instantiated without")
            yield
    finally:
        for logger, level in zip(quiet, levels):
            logger.setLevel(level)


def _quantize_on_gpu(module: Any, chosen: list[nn.Linear], bits: str) -> None:
    try:
        import bitsandbytes
    except ImportError as error:
        raise InputError(
            "quantized weights need the extra [bitsandbytes] on a GPU; install it with: pip install "
            '"handaxe[bitsandbytes]"'
        ) from error

    def replaced(old: nn.Linear) -> nn.Module:
        sizes = (old.in_features, old.out_features, old.bias is not None)
        if bits == "8bit":
            new = bitsandbytes.nn.Linear8bitLt(*sizes, has_fp16_weights=False, device="meta")
            new.weight = bitsandbytes.nn.Int8Params(old.weight.data, requires_grad=False, has_fp16_weights=False)
        else:
            new = bitsandbytes.nn.Linear4bit(*sizes, compute_dtype=old.weight.dtype, quant_type="nf4", device="meta")
            new.weight = bitsandbytes.nn.Params4bit(old.weight.data, requires_grad=False, quant_type="nf4")
        if old.bias is not None:
            new.bias = old.bias
        return new

    _replace_layers(module, {id(part) for part in chosen}, replaced)
    setattr(module, f"is_loaded_in_{bits}", True)  # read by peft
    module.to("cuda")  # quantizes


def merge_quantized(module: Any) -> Any:
    """Return a copy of the base of a peft model in its own dtype: dequantized, with the LoRA adapter merged.

    Raises:
        InputError: the adapter is DoRA, whose merge depends on the norm of the quantized weights.
    """
    from peft.tuners.lora import LoraLayer

    merged = copy.deepcopy(module).get_base_model()
    dtype = merged.get_input_embeddings().weight.dtype
    adapted = {id(part) for part in merged.modules() if isinstance(part, LoraLayer)}
    inside = {id(part.base_layer) for part in merged.modules() if isinstance(part, LoraLayer)}
    plain = {id(part) for part in merged.modules() if isinstance(part, nn.Linear) and _is_quantized_layer(part)}

    def replaced(layer: Any) -> nn.Module:
        if any(getattr(layer, "use_dora", {}).values()):
            raise InputError("a DoRA adapter on quantized weights cannot be merged: export it with --adapter")
        base = layer.base_layer if id(layer) in adapted else layer
        weight = _dequantize(base).to(torch.float32)
        if id(layer) in adapted:
            weight += sum(layer.get_delta_weight(name).to(weight) for name in layer.active_adapters)
        new = nn.Linear(base.in_features, base.out_features, base.bias is not None, device="meta")
        new.weight = nn.Parameter(weight.to(dtype), requires_grad=False)
        if base.bias is not None:
            new.bias = base.bias
        return new

    _replace_layers(merged, adapted | (plain - inside), replaced)
    delattr(merged, QUANTIZED)
    merged._hf_peft_config_loaded = False
    return merged


def _is_quantized_layer(layer: nn.Module) -> bool:
    return type(layer.weight) is not nn.Parameter


def _dequantize(layer: Any) -> Tensor:
    from peft.utils.integrations import dequantize_module_weight

    if hasattr(layer, "state") or hasattr(layer.weight, "quant_state"):  # bitsandbytes
        return dequantize_module_weight(layer).detach()
    weight: Tensor = layer.weight
    return weight.detach() if type(weight) is nn.Parameter else weight.dequantize().detach()


def _replace_layers(module: nn.Module, chosen: set[int], make: Callable[[Any], nn.Module]) -> None:
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if id(child) in chosen:
                setattr(parent, name, make(child))
