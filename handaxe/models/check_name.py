"""Whether a name can be that of a model, found out at once and not after minutes of asking a hub that is not there."""

import difflib
import importlib.util
import os
import re
from collections.abc import Sequence
from pathlib import Path

from handaxe.core.errors import InputError

__all__ = ["check_name"]

CLOSE = 0.75
SECONDS = 10.0
"""How long the hub is asked whether it has a model of this name."""
HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def check_name(where: str | Path, known: Sequence[str]) -> None:
    """See that there can be a model of this name.

    Args:
        where: a name, a folder, a file, or a name on the hub.
        known: names that are always there.

    Raises:
        InputError: there is none, for what can be said of it at once; the message holds close matches.
    """
    name, path = str(where), Path(where)
    if name in known:
        return
    if path.is_dir():
        if not any(path.iterdir()):
            raise InputError(f"there is no model in {name}: the folder is empty")
        return
    if path.exists():
        if path.suffix != ".gguf":
            raise InputError(f"{name} is a file, and no .gguf file: name the folder that the model lies in")
        return
    close = difflib.get_close_matches(name.lower(), known, n=2, cutoff=CLOSE)
    there = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}, a folder or a hub name"
    if not HUB_NAME.fullmatch(name) or name.startswith(".") or (close and not _cached(name)):
        raise InputError(f"there is no model {name!r}, nor a folder or file of that name; {there}")
    _ask_hub(name, there)


def _cached(name: str) -> bool:
    """Whether the hub's files of this name were downloaded before."""
    if importlib.util.find_spec("huggingface_hub") is None:
        return False
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, "config.json"), str)


def _ask_hub(name: str, there: str) -> None:
    """Raise InputError when the hub has no such model, or is not there to be asked and nothing was downloaded."""
    if importlib.util.find_spec("huggingface_hub") is None or _cached(name):  # loading it says which extra is missing
        return
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        HfApi().model_info(name, timeout=SECONDS)
    except HfHubHTTPError as error:
        status = getattr(error.response, "status_code", 0)
        if status in (401, 404):
            raise InputError(f"there is no folder {name!r}, and no such model on the hub; {there}") from None
        if status != 403:  # a gated one, which loading it tells apart
            raise InputError(f"the hub cannot say whether it has {name!r} (status {status}); {there}") from None
    except Exception as error:  # offline, in as many ways as there are
        why = "HF_HUB_OFFLINE is set" if os.environ.get("HF_HUB_OFFLINE") else f"{error}".partition("\n")[0]
        raise InputError(
            f"there is no folder {name!r}, and the hub cannot be asked for a model of that name ({why}); {there}"
        ) from error
