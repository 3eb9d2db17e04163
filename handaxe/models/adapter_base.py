"""Base model of a saved LoRA adapter, stored as a reference instead of a copy of the weights.

FOLDER/adapter/...            the adapter, in peft's format
      /adapter/base.json      source, dtype and digest of the base weights
      /config.json ...        configuration of the base, and the tokenizer
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from handaxe.core.errors import CheckpointError
from handaxe.ops.tensor_digest import tensor_digest

__all__ = ["ADAPTER", "Base", "base_digest", "base_weights", "read_base", "write_base"]

ADAPTER = "adapter"
"""Subfolder of a saved model with the LoRA weights."""
FILE = "base.json"


@dataclass(frozen=True)
class Base:
    """Source of frozen weights.

    source      a folder, the name of a packaged model ("smollm2"), or a name on the hub; `where` in base.json
    gguf_file   name of the GGUF file in the source; "" for other formats
    dtype       dtype of the loaded weights
    digest      digest of the weights; "" before the first save
    quantize    "4bit" or "8bit" for quantized weights, "" otherwise; see models.quantize
    """

    source: str
    gguf_file: str = ""
    dtype: str = "float32"
    digest: str = ""
    quantize: str = ""


def base_weights(module: Any) -> dict[str, Any]:
    """Return the frozen weights of a peft model, by their names without an adapter."""
    state = module.get_base_model().state_dict()
    frozen = {
        name: tensor for name, tensor in state.items() if ".lora_" not in name and ".modules_to_save." not in name
    }
    return {name.replace(".base_layer", "").replace(".original_module", ""): frozen[name] for name in frozen}


def base_digest(module: Any) -> str:
    """Return a digest of the frozen weights of a peft model."""
    return tensor_digest(base_weights(module))


def write_base(folder: Path, base: Base) -> None:
    """Write base.json next to the adapter in a folder."""
    fields = asdict(base)
    fields = {"where": fields.pop("source"), **fields}
    if not base.quantize:
        del fields["quantize"]
    (folder / ADAPTER / FILE).write_text(json.dumps(fields, indent=1) + "\n")


def read_base(folder: Path) -> Base | None:
    """Return the base of the adapter in a folder; None without an adapter, or if the folder also holds the base.

    Raises:
        CheckpointError: base.json is damaged.
    """
    file = folder / ADAPTER / FILE
    if not file.is_file():
        return None
    try:
        fields = {name: str(value) for name, value in json.loads(file.read_text()).items()}
        return Base(fields.pop("where"), **fields)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{file} cannot be read ({error!r}): load another checkpoint") from error
