"""Decoder of a run's token ids, for commands that print rollouts. Builds no model."""

from contextlib import suppress
from pathlib import Path

import numpy as np

from handaxe.core.errors import HandaxeError
from handaxe.methods.build import START
from handaxe.methods.run_folder import recorded_method
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.safe_encoder import SafeEncoder
from handaxe.models.huggingface_files import load_tokenizer
from handaxe.models.load import NAMED, TINY, load_format
from handaxe.models.saved_policy import find_saved_policy
from handaxe.training.record.run_record import RunRecord
from handaxe.view.trajectory import Decode

__all__ = ["make_decoder"]


def make_decoder(folder: Path) -> Decode:
    """The function that decodes token ids of a run: of the saved chat format, or the closest match for an older run."""
    with suppress(HandaxeError):
        return load_format(folder).decode
    with RunRecord.open(folder) as record:
        roles = record.about().get("arguments", {})
    if roles.get("format") == f"{Compact.__module__}.{Compact.__qualname__}":
        return Compact().decode
    with suppress(HandaxeError):
        saved = find_saved_policy(folder, verify=False)
        if saved is not None:
            return SafeEncoder(load_tokenizer(saved.model)).decode
    with suppress(HandaxeError):
        method = recorded_method(folder) or {"arguments": {}}
        # Only a packaged model: a record may come from others, so no folder, hub or module that it names is read.
        model = str(method["arguments"].get("model", ""))
        if model in (START, *NAMED):
            return load_format(TINY if model == START else model).decode
    return _ids


def _ids(ids: object) -> str:
    return "".join(f"<{int(token)}>" for token in np.asarray(ids).ravel())
