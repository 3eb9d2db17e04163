"""Loads auxiliary policies, such as a simulated user, from `--aux-policies`."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Sampling
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.load import load

__all__ = ["load_aux_policies"]

FORM = "write NAME=MODEL, such as user=smollm2, or NAME=ADDRESS#MODEL for a chat server"


def load_aux_policies(entries: Sequence[str], *, max_tokens: int) -> dict[str, AuxPolicy]:
    """Load an engine for each entry of `RunSettings.aux_policies`. Auxiliary policies are sampled from, never trained.

    Args:
        entries: NAME=MODEL, where MODEL is an argument of `load`, or NAME=ADDRESS#MODEL for a model of a chat server.
        max_tokens: limit of a turn.

    Raises:
        InputError: a model does not exist, an entry has another form, or two entries share a name.

    Example:
        load_aux_policies(["user=smollm2"], max_tokens=64)
        load_aux_policies(["user=http://127.0.0.1:8000/v1#clerk"], max_tokens=64)
    """
    found = dict[str, AuxPolicy]()
    for entry in entries:
        name, equals, model = entry.partition("=")
        if not (name and equals and model) or name in found:
            raise InputError(
                f"--aux-policies {entry!r}: {f'two entries are named {name!r}' if name in found else FORM}"
            )
        sampling = Sampling(max_tokens=max_tokens)
        if model.startswith(("http://", "https://")):
            address, mark, served = model.partition("#")
            if not (mark and served):
                raise InputError(f"--aux-policies {entry!r}: {FORM}")
            chat = Transcript()
            found[name] = AuxPolicy(OpenAICompatible(address, model=served, format=chat), chat, sampling)
        else:
            policy = load(model)
            found[name] = AuxPolicy(LocalEngine(policy.model), policy.format, sampling)
    return found
