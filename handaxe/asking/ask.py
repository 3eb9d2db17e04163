"""Questions, answers and answerers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from handaxe.asking.prompt import Prompt
from handaxe.core.records import Sampling

__all__ = ["Answerer", "Ask", "AskAnswer", "FailureKind", "OUTAGES", "Spent"]

FailureKind = Literal["", "unreadable", "too_long", "unavailable", "refused", "budget"]
"""Reason of a missing answer; "" for none."""
OUTAGES: tuple[FailureKind, ...] = ("unavailable", "budget")
"""Failures of the model's server and of the budget, which say nothing about the question."""


@dataclass(frozen=True, eq=False)
class Ask:
    """One question.

    prompt    text with fields
    fields    values of the fields
    role      such as "judge"; no part of the key
    about     (trajectory id, turn, criterion), for records; no part of the key
    sampling  of a text; labels are read from likelihoods
    sample    number among several answers to one question
    """

    prompt: Prompt
    fields: Mapping[str, str]
    role: str = "judge"
    about: tuple[str, int, str] = ("", -1, "")
    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=0.0, max_tokens=256))
    sample: int = 0

    def key(self, fingerprint: str) -> str:
        """Compute SHA-256 of question and answerer, without role and place: equal keys have equal answers."""
        parts = [self.prompt.digest, sorted(self.fields.items()), repr(self.sampling), self.sample, fingerprint]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Spent(NamedTuple):
    """Resources of an answer: tokens read and written, seconds, and cost in the unit of the price."""

    read: int = 0
    written: int = 0
    seconds: float = 0.0
    cost: float = 0.0


NOTHING = Spent()


@dataclass(frozen=True)
class AskAnswer:
    """Answer to one question, or the reason of a missing answer.

    text        sampled text, "" for a question with labels
    label_logp  label -> log-likelihood, summed over its surface forms and not normalized; {} for a text
    by          fingerprint of the answerer
    failure     reason of a missing answer, "" for none
    cached      read from the store
    """

    text: str = ""
    label_logp: Mapping[str, float] = field(default_factory=dict)
    spent: Spent = NOTHING
    by: str = ""
    failure: FailureKind = ""
    cached: bool = False


class Answerer(Protocol):
    """Answers questions, such as `asking.policy_answerer.PolicyAnswerer`."""

    @property
    def terse(self) -> bool:
        """True prefers the short variants of prompts."""
        ...

    def fingerprint(self) -> str:
        """Digest that changes exactly when answers may change. Raises InputError before a model is loaded."""
        ...

    def answer(self, asks: Sequence[Ask]) -> list[AskAnswer]:
        """One answer each, in order. Never raises for a single bad question."""
        ...
