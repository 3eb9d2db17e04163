"""Auxiliary policies of a run, such as a simulated user or the modules of an agent, by their sources.

self                      the policy, with its present weights
self@start                the policy as it was before training
trained                   a copy of the policy that trains beside it, see training.loop.aux_trainer
tiny, smollm2, FOLDER     a frozen model
http://HOST/v1#NAME       a model of a chat server
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handaxe import engines
from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy, ChatFormat, Copyable, Engine, Learner
from handaxe.core.records import Sampling
from handaxe.engines.openai.address import is_address, split_address
from handaxe.methods.judge_source import RULE
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.check_model_name import check_model_name
from handaxe.models.load import NAMED, load
from handaxe.training.loop.aux_trainer import AuxTrainer

__all__ = ["TRAINED", "aux_sources", "check_aux_policies", "load_aux_policies"]

FORM = "write NAME=MODEL, such as user=smollm2, or NAME=ADDRESS#MODEL for a chat server"
SELF = "self"
START = "self@start"
TRAINED = "trained"


def aux_sources(
    entries: Sequence[str], *, roles: Mapping[str, str], playable: Sequence[str], world: str
) -> dict[str, str]:
    """Collect the sources of a run's auxiliary policies, without loading a model.

    Args:
        entries: of `RunSettings.aux_policies`.
        roles: of `Method.aux_policies`; a source rule leaves the role to the world.
        playable: `World.roles`, parts of the environment that a model may play.
        world: its name, for messages.

    Raises:
        InputError: as `check_aux_policies`; the method names a model for a role that the world lacks; a role is named
            by both.

    Example:
        ["user=smollm2"], roles {"verifier": "self", "executor": "rule"} -> {"user": "smollm2", "verifier": "self"}
    """
    found = check_aux_policies(entries)
    for role, source in roles.items():
        if source == RULE:
            continue
        option = f"--{role}"
        if role not in playable:
            raise InputError(f"{option} {source}: world {world} has no {role} that a model could play")
        if role in found:
            raise InputError(
                f"{option} {source} and --aux-policies {role}={found[role]} name one role: give one of them"
            )
        _check(source, option=option)
        found[role] = source
    return found


def check_aux_policies(entries: Sequence[str]) -> dict[str, str]:
    """Split the entries of `RunSettings.aux_policies` into names and sources, without loading a model.

    Args:
        entries: NAME=SOURCE each.

    Raises:
        InputError: a model does not exist, an entry has another form, or two entries share a name.

    Example:
        check_aux_policies(["user=self@start"]) -> {"user": "self@start"}
    """
    found = dict[str, str]()
    for entry in entries:
        name, _, source = entry.partition("=")
        if name in found:
            raise InputError(f"--aux-policies {entry!r}: two entries are named {name!r}")
        if not (name and source) or (is_address(source) and not all(source.partition("#"))):
            raise InputError(f"--aux-policies {entry!r}: {FORM}")
        _check(source, option="--aux-policies")
        found[name] = source
    return found


def load_aux_policies(
    sources: Mapping[str, str],
    *,
    engine: Engine,
    format: ChatFormat,
    max_tokens: int,
    learners: Sequence[Learner] = (),
) -> dict[str, AuxPolicy]:
    """Load an auxiliary policy for each source.

    Args:
        sources: of `aux_sources`.
        engine, format: of the policy.
        max_tokens: limit of a turn.
        learners: of the run, with an `AuxTrainer` for each trained role.

    Raises:
        InputError: a model does not exist, or the policy cannot be copied.

    Example:
        load_aux_policies({"user": "http://127.0.0.1:8000/v1#clerk"}, engine=engine, format=chat, max_tokens=64)
    """
    trainers = {one.role: one for one in learners if isinstance(one, AuxTrainer)}
    sampling = Sampling(max_tokens=max_tokens)
    found = dict[str, AuxPolicy]()
    for role, source in sources.items():
        chat = format
        if source == SELF:
            own = engine
        elif source == START:
            own = _start(engine, role)
        elif source == TRAINED:
            trainers[role].begin(engine)
            own = trainers[role].engine
        elif is_address(source):
            address, served = split_address(source, option=f"--{role}")
            chat = Transcript()
            own = engines.OpenAICompatible(address, model=served, format=chat)
        else:
            policy = load(source)
            own, chat = engines.LocalEngine(policy.model, device=getattr(engine, "device", "cpu")), policy.format
        found[role] = AuxPolicy(own, chat, sampling)
    return found


def _start(engine: Engine, role: str) -> Engine:
    if not isinstance(engine, Copyable):
        raise InputError(f"{type(engine).__name__} has no twins, so --{role} {START} has no copy of the policy")
    return engine.twin()


def _check(source: str, *, option: str) -> None:
    if is_address(source):
        split_address(source, option=option)
    elif source not in (SELF, START, TRAINED):
        check_model_name(source, NAMED)
