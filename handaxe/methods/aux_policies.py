"""Makes the engines that a run may ask besides its policy, such as a simulated user, of what a setting says."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Sampling
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.load import load
from handaxe.models.transcript import Transcript

__all__ = ["speakers"]

FORM = "write NAME=MODEL, such as user=smollm2, or NAME=ADDRESS#MODEL for a chat server"


def speakers(named: Sequence[str], *, max_tokens: int) -> dict[str, AuxPolicy]:
    """An engine for each of `Setting.others`. They are asked and do not learn.

    Args:
        named: NAME=MODEL, where MODEL is what `load` takes, or NAME=ADDRESS#MODEL of a chat server.
        max_tokens: of a turn of theirs.

    Raises:
        InputError: what is named is not there, or a name stands twice.

    Example:
        speakers(["user=smollm2"], max_tokens=64); speakers(["user=http://127.0.0.1:8000/v1#clerk"], max_tokens=64)
    """
    found = dict[str, AuxPolicy]()
    for one in named:
        name, equals, model = one.partition("=")
        if not (name and equals and model) or name in found:
            raise InputError(f"--aux-policies {one!r}: {'it stands twice' if name in found else FORM}")
        sampling = Sampling(max_tokens=max_tokens)
        if model.startswith(("http://", "https://")):
            address, mark, served = model.partition("#")
            if not (mark and served):
                raise InputError(f"--aux-policies {one!r}: {FORM}")
            chat = Transcript()
            found[name] = AuxPolicy(OpenAICompatible(address, model=served, format=chat), chat, sampling)
        else:
            policy = load(model)
            found[name] = AuxPolicy(LocalEngine(policy.model), policy.format, sampling)
    return found
