"""The base of an adapter: frozen weights that a saved adapter names, instead of holding them.

FOLDER/adapter/...            the adapter, as peft writes it
      /adapter/base.json      where the base is loaded from, its type, and the digest of its weights
      /config.json ...        the base's configuration, and the tokenizer
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from handaxe.core.errors import CheckpointError
from handaxe.ops.digests import tensors_digest

__all__ = ["ADAPTER", "Base", "base_digest", "base_weights", "read_base", "write_base"]

ADAPTER = "adapter"
"""Sub-folder of a saved model that holds its LoRA weights."""
FILE = "base.json"


@dataclass(frozen=True)
class Base:
    """Where frozen weights come from.

    where       a folder, the name of a model that comes with a package ("smollm2"), or a name on the hub
    gguf_file   the GGUF file in there; "" when it is none
    dtype       what they were loaded as
    digest      of the weights; "" where it was not taken yet
    """

    where: str
    gguf_file: str = ""
    dtype: str = "float32"
    digest: str = ""


def base_weights(module: Any) -> dict[str, Any]:
    """The frozen weights of a peft model, by the names that they have without an adapter."""
    state = module.get_base_model().state_dict()
    kept = {name: tensor for name, tensor in state.items() if ".lora_" not in name and ".modules_to_save." not in name}
    return {name.replace(".base_layer", "").replace(".original_module", ""): kept[name] for name in kept}


def base_digest(module: Any) -> str:
    """A digest of the frozen weights of a peft model."""
    return tensors_digest(base_weights(module))


def write_base(folder: Path, base: Base) -> None:
    """Write base.json beside the adapter in a folder."""
    (folder / ADAPTER / FILE).write_text(json.dumps(asdict(base), indent=1) + "\n")


def read_base(folder: Path) -> Base | None:
    """The base of the adapter in a folder; None where there is no adapter, or its base lies in the folder itself.

    Raises:
        CheckpointError: base.json is damaged.
    """
    file = folder / ADAPTER / FILE
    if not file.is_file():
        return None
    try:
        found = json.loads(file.read_text())
        return Base(**{name: str(value) for name, value in found.items()})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{file} cannot be read ({error!r}): load another checkpoint") from error
