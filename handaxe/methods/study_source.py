"""Desks of the roles of a study, by the sources of `methods.judge_source`; a study has no policy of its own."""

from __future__ import annotations

from typing import TypeVar

from handaxe.asking.ask import OUTAGES
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.core.errors import InputError
from handaxe.methods.judge_source import RULE, check_judge_source, make_other_answerer

__all__ = ["study_answer", "study_desk"]

T = TypeVar("T")


def study_desk(source: str, *, option: str) -> AskDesk | None:
    """Make the desk of a source; None for the rule.

    Args:
        source: rule, a model, http://HOST/v1#NAME or MODULE:ATTRIBUTE of your own answerer.
        option: such as "--advisor".

    Raises:
        InputError: no such source; a source that needs the policy of a run, or is taught by a rule.

    Example:
        study_desk("smollm2", option="--advisor") asks SmolLM2; study_desk("rule", option="--advisor") is None

    Idea: a role of a paper is a source, whoever answers.
    """
    check_judge_source(source, option=option)
    if source in ("self", "self@start", "trained") or source.startswith("head:"):
        raise InputError(f"this study has no policy of its own: give {option} rule or a model, not {source}")
    return None if source == RULE else AskDesk(make_other_answerer(source, option=option))


def study_answer(found: T | NoAnswer, *, role: str) -> T | None:
    """Return the value of a question, or None for a question without one.

    Args:
        found: of `AskDesk.ask`.
        role: who was asked, for the message.

    Raises:
        InputError: the model is away, or its budget is spent.

    Example:
        NoAnswer("unreadable") -> None; NoAnswer("unavailable") -> the study ends

    Idea: a missing server says nothing about a task.
    """
    if not isinstance(found, NoAnswer):
        return found
    if found.reason in OUTAGES:
        raise InputError(f"the {role} does not answer ({found.reason}): start the server, and run the command again")
    return None
