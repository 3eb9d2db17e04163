"""Questions of a step to a model; a missing server ends the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from handaxe.asking.ask import Ask, FailureKind
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.read import Reader
from handaxe.core.errors import InputError
from handaxe.synthesis.step import spent_on

__all__ = ["AskedValue", "ask_values", "desk_settings", "need_answers"]

T = TypeVar("T")
STOPS: Mapping[FailureKind, str] = {
    "unavailable": "the server is away; start it, and the same command continues",
    "budget": "the budget is spent; with a larger --budget the same command continues",
}
"""Reason of a missing answer that says nothing about a draft -> advice."""


class AskedValue(NamedTuple, Generic[T]):
    """Value of a question, or NoAnswer, and the question's JSON for the provenance."""

    value: T | NoAnswer
    asked: tuple[dict[str, Any], ...]


def ask_values(desk: AskDesk, asks: Sequence[Ask], read: Reader[T]) -> list[AskedValue[T]]:
    """Ask the questions of a step.

    Args:
        desk: asks the model.
        asks: with different `about`, whose first part is the id of the draft.
        read: reader of the answers.

    Returns:
        A value for each question, in order.

    Raises:
        InputError: the server is away or the budget is spent: no draft is dropped for it.

    Example:
        ask_values(desk, [ask], json_object({"calls": list})) -> [AskedValue({"calls": []}, ({"role": ...},))]

    Idea: a missing server says nothing about a draft, and an answer of another form does.
    """
    values = need_answers(desk, asks, read)
    calls = desk.take_calls()
    own = [spent_on([call for call in calls if call.about == one.about]) for one in asks]
    return [AskedValue(value, asked) for value, asked in zip(values, own, strict=True)]


def need_answers(desk: AskDesk, asks: Sequence[Ask], read: Reader[T]) -> list[T | NoAnswer]:
    """Ask questions as `ask_values` does, and leave the records at the desk, such as for the record of a judge.

    Raises:
        InputError: see `ask_values`.

    Example:
        need_answers(desk, [ask], json_object({"calls": list})) -> [{"calls": []}]
    """
    values = desk.ask(asks, read)
    missing = Counter[str](one.reason for one in values if isinstance(one, NoAnswer))
    for reason, advice in STOPS.items():
        if missing[reason]:
            count = f"{missing[reason]} of {len(values)}"
            raise InputError(f"{count} questions to the {asks[0].role} have no answer: {advice}")
    return values


def desk_settings(desk: AskDesk | None, prompt: str = "") -> dict[str, str]:
    """Settings of a step that asks a desk: the answerer, and the prompt with its digest; None for the rule."""
    return {"by": "rule"} if desk is None else {"by": desk.answerer.fingerprint(), "prompt": prompt}
