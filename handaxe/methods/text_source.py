"""Desks of roles that write texts, by the sources of `methods.judge_source`.

rule                      the rule of the method; no desk
self                      the policy, with its present weights
self@start                the policy as it was at the start of the stage
tiny, smollm2, FOLDER     a frozen model
http://HOST/v1#NAME       a model of a chat server
MODULE:ATTRIBUTE          your own `asking.ask.Answerer`
"""

from __future__ import annotations

from handaxe.asking.desk import AskDesk
from handaxe.asking.store import AnswerStore
from handaxe.core.errors import InputError
from handaxe.core.protocols import StageContext
from handaxe.methods.judge_source import RULE, check_judge_source, make_answerer

__all__ = ["check_text_source", "text_desk"]

OWN = ("self", "self@start")


def check_text_source(source: str, *, option: str) -> None:
    """Check a source of texts without loading a model.

    Args:
        source: see the module.
        option: whose value it is, for errors.

    Raises:
        InputError: no such source, or a taught one, since no rule labels texts.
    """
    if source == "trained" or source.startswith("head:"):
        raise InputError(f"{option} {source}: texts are written, and a taught model gives labels: give rule or a model")
    check_judge_source(source, option=option)


def text_desk(source: str, site: StageContext, *, option: str) -> AskDesk | None:
    """Make the desk of a role in a stage; None for the rule.

    Answers are in FOLDER/ROLE.sqlite of the stage; a frozen model answers new questions alone.

    Args:
        source: see the module.
        site: context of the stage.
        option: such as "--refiner".

    Raises:
        InputError: see `check_text_source`; the policy cannot be copied.

    Example:
        text_desk("smollm2", site, option="--refiner") asks SmolLM2; text_desk("rule", ...) is None

    Idea: a role of a paper is a source, whoever answers.
    """
    check_text_source(source, option=option)
    if source == RULE:
        return None
    store = None
    if site.out is not None:
        site.out.mkdir(parents=True, exist_ok=True)
        store = AnswerStore(site.out / f"{option.removeprefix('--')}.sqlite", reads=source not in OWN)
    return AskDesk(make_answerer(source, site.engine, site.format, option=option), store=store)
