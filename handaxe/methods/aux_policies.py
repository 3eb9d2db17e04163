"""Loads auxiliary policies, such as a simulated user, from `--aux-policies`."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe import engines
from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Sampling
from handaxe.engines.openai.address import is_address, split_address
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.check_model_name import check_model_name
from handaxe.models.load import NAMED, load

__all__ = ["check_aux_policies", "load_aux_policies"]

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
    for name, model in check_aux_policies(entries).items():
        sampling = Sampling(max_tokens=max_tokens)
        if is_address(model):
            address, served = split_address(model, option="--aux-policies")
            chat = Transcript()
            found[name] = AuxPolicy(engines.OpenAICompatible(address, model=served, format=chat), chat, sampling)
        else:
            policy = load(model)
            found[name] = AuxPolicy(engines.LocalEngine(policy.model), policy.format, sampling)
    return found


def check_aux_policies(entries: Sequence[str]) -> dict[str, str]:
    """Split the entries into names and models, without loading a model. Raises InputError as `load_aux_policies`."""
    found = dict[str, str]()
    for entry in entries:
        name, _, model = entry.partition("=")
        if name in found:
            raise InputError(f"--aux-policies {entry!r}: two entries are named {name!r}")
        if not (name and model) or (is_address(model) and not all(model.partition("#"))):
            raise InputError(f"--aux-policies {entry!r}: {FORM}")
        if not is_address(model):
            check_model_name(model, NAMED)
        found[name] = model
    return found
