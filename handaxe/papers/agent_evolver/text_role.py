"""Role of a run that writes texts: a rule, or a language model by its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from handaxe.asking.ask import Ask, FailureKind
from handaxe.asking.desk import AskDesk, AskRecord, NoAnswer
from handaxe.asking.read import Reader
from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.methods.judge_source import RULE
from handaxe.methods.text_source import check_text_source, text_desk

__all__ = ["TextRole", "bind_role"]

T = TypeVar("T")
STOPS: Mapping[FailureKind, str] = {
    "unavailable": "the server is away; start it, and resume the run",
    "budget": "the budget is spent",
}
"""Reason of a missing answer that says nothing about the question -> advice."""


class TextRole:
    """Source of a role, and its model once a stage has bound it.

    Args:
        source: rule, self, self@start, a model, http://HOST/v1#NAME or MODULE:ATTRIBUTE, see `methods.text_source`.
        name: of the role and its option, such as "proposer".

    Raises:
        InputError: no such source; a source that a rule teaches, since no rule labels texts.

    Example:
        TextRole("rule", name="proposer").is_rule -> True

    Paper: arXiv:2511.10395 (AgentEvolver), language models that propose tasks and summarise experience.
    """

    def __init__(self, source: str, *, name: str):
        check_text_source(source, option=f"--{name}")
        self.source, self.name = source, name
        self._desk: AskDesk | None = None

    @property
    def is_rule(self) -> bool:
        return self.source == RULE

    @property
    def terse(self) -> bool:
        """Preference of the model for short prompts."""
        return self._bound().answerer.terse

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stage that binds a model; () for the rule."""
        return () if self.is_rule else (bind_role(self),)

    def bind(self, site: StageContext) -> None:
        """Make the model, and record its answers in the stage's folder, see `methods.text_source.text_desk`."""
        if self._desk is None:
            self._desk = text_desk(self.source, site, option=f"--{self.name}")

    def ask(self, asks: Sequence[Ask], read: Reader[T]) -> list[T | None]:
        """Values of questions, in order; None for an unreadable, refused or too long one.

        Raises:
            InputError: the model is away or not bound.
        """
        values = self._bound().ask(asks, read)
        for reason, advice in STOPS.items():
            if count := sum(isinstance(one, NoAnswer) and one.reason == reason for one in values):
                raise InputError(f"{count} of {len(values)} questions to the {self.name} have no answer: {advice}")
        return [None if isinstance(one, NoAnswer) else one for one in values]

    def take_calls(self) -> list[AskRecord]:
        """Records since the last call; [] for the rule and before the binding."""
        return [] if self._desk is None else self._desk.take_calls()

    def _bound(self) -> AskDesk:
        if self._desk is None:
            raise InputError(f"--{self.name} {self.source} has no model yet: it is asked before its stage")
        return self._desk


def bind_role(role: TextRole) -> Stage:
    """Make a stage that binds a role, and nothing else.

    Args:
        role: whose source may be the policy.

    Returns:
        A stage with one row, the step 0. Nothing trains.

    Example:
        bind_role(TextRole("self", name="writer")): tips of the training loop are texts of the policy

    Idea: a source "self" needs the policy, which a method does not have.
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        role.bind(site)
        return [{"step": 0.0}]

    return stage
