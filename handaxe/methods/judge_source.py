"""Sources of a judge's answers, by name.

rule                      the rule of the world
self                      the policy, with its present weights
self@start                the policy as it was before training
trained                   a copy of the policy, fine-tuned on answers of the rule before training
tiny, smollm2, FOLDER     a frozen model
head:SOURCE               a head on frozen hidden states of a model, fitted on answers of the rule before training
http://HOST/v1#NAME       a model of a chat server
MODULE:ATTRIBUTE          your own `asking.ask.Answerer`, or a function without arguments that makes one
"""

from __future__ import annotations

from typing import Any

from handaxe import engines
from handaxe.asking.fitted_head import FittedHead
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.core.errors import InputError
from handaxe.core.import_string import attribute
from handaxe.core.protocols import ChatFormat, Copyable, Engine
from handaxe.engines.openai.address import is_address, split_address
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.check_model_name import check_model_name
from handaxe.models.load import NAMED, load

__all__ = ["RULE", "check_judge_source", "make_answerer", "make_other_answerer"]

RULE = "rule"
OWN = ("self", "self@start", "trained")
HEAD = "head:"


def check_judge_source(source: str, *, option: str = "--judge") -> None:
    """Check a source without loading a model.

    Args:
        source: see the module.
        option: whose value it is, for errors.

    Raises:
        InputError: no such source.
    """
    if source in (RULE, *OWN):
        return
    if not source.removeprefix(HEAD):
        raise InputError(f"{option} names nobody: give rule, self, self@start, trained, a model or head:MODEL")
    if is_address(source):
        split_address(source, option=option)
        return
    if _is_import(source):
        attribute(source, noun="judge", example="my_file:judge")
        return
    check_model_name(source.removeprefix(HEAD), NAMED)


def make_answerer(source: str, engine: Engine, format: ChatFormat, *, option: str = "--judge") -> Any:
    """Make the answerer of a source other than the rule.

    Args:
        source: see the module.
        engine, format: of the policy.
        option: whose value the source is, for errors.

    Raises:
        InputError: no such source; the policy cannot be copied.
    """
    if source == "self":
        return PolicyAnswerer(engine, format, name=source)
    if source == "self@start":
        if not isinstance(engine, Copyable):
            raise InputError(f"{type(engine).__name__} has no twins, so {option} self@start has no copy of the policy")
        return PolicyAnswerer(engine.twin(), format, name=source)
    if source == "trained":
        return TaughtAnswerer(format, name=source)
    return make_other_answerer(source, device=getattr(engine, "device", "cpu"), option=option)


def make_other_answerer(source: str, *, device: str = "cpu", option: str = "--judge") -> Any:
    """Make the answerer of a source that is independent of the policy: a model, a server, or an own answerer.

    Args:
        source: see the module; not the rule, self, self@start or trained.
        device: of a local model.
        option: whose value the source is, for errors.

    Raises:
        InputError: no such source.
    """
    if is_address(source):
        address, served = split_address(source, option=option)
        chat = Transcript()
        return PolicyAnswerer(engines.OpenAICompatible(address, model=served, format=chat), chat, name=source)
    if _is_import(source):
        found: Any = attribute(source, noun=option.removeprefix("--"), example="my_file:judge")
        return found() if callable(found) and not callable(getattr(type(found), "answer", None)) else found
    policy = load(source.removeprefix(HEAD))
    own = engines.LocalEngine(policy.model, device=device)
    return (FittedHead if source.startswith(HEAD) else PolicyAnswerer)(own, policy.format, name=source)


def _is_import(source: str) -> bool:
    return ":" in source and not source.startswith(HEAD)
