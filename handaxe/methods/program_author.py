"""Authors of reward programs, by name.

grammar                   a grammar, without a model
tiny, smollm2, FOLDER     a frozen model
http://HOST/v1#NAME       a model of a chat server
"""

from __future__ import annotations

from handaxe import engines
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Engine
from handaxe.engines.openai.address import is_address, split_address
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.check_model_name import check_model_name
from handaxe.models.load import NAMED, load
from handaxe.training.stages.parts.asked_author import GRAMMAR, Describe, ProgramAuthor, asked_author

__all__ = ["program_author"]


def program_author(source: str, *, goal: str, describe: Describe | None = None) -> ProgramAuthor:
    """Make the author of a source; a model loads at the first request.

    Args:
        source: see the module.
        goal: name of the tasks, for a model.
        describe: as of `asked_author`, for a model.

    Raises:
        InputError: no such source.
    """
    if source == "grammar":
        return GRAMMAR
    if not source:
        raise InputError("--author is empty: give grammar, a model, or http://HOST/v1#NAME")
    if is_address(source):
        split_address(source, option="--author")
    else:
        check_model_name(source, NAMED)
    return asked_author(engine=lambda: _engine(source), goal=goal, describe=describe)


def _engine(source: str) -> tuple[Engine, ChatFormat]:
    if is_address(source):
        address, served = split_address(source, option="--author")
        chat = Transcript()
        return engines.OpenAICompatible(address, model=served, format=chat), chat
    policy = load(source)
    return engines.LocalEngine(policy.model), policy.format
