"""Steps of a pipeline: drafts -> outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from handaxe.asking.desk import AskRecord
from handaxe.synthesis.draft import SynthesisDraft

__all__ = ["DraftOutcome", "StepRound", "SynthesisContext", "SynthesisStep", "dropped", "kept", "spent_on"]

T = TypeVar("T")
S = TypeVar("S")


class DraftOutcome(NamedTuple):
    """Result of a step for one draft.

    kept     drafts that go on: the same draft, drafts made of it, or none
    reason   why none is kept; "" otherwise
    asked    JSON about questions to a model, see `spent_on`
    """

    kept: tuple[SynthesisDraft, ...]
    reason: str = ""
    asked: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class SynthesisContext:
    """Context of a step's call.

    seed      of the run
    earlier   drafts that the step kept in earlier rounds, in order; for steps with `whole` alone
    workers   threads of `map`
    """

    seed: int
    earlier: tuple[SynthesisDraft, ...] = ()
    workers: int = 4

    def map(self, function: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """Apply a function to items in threads; results have the order of the items."""
        if self.workers < 2 or len(items) < 2:
            return [function(one) for one in items]
        with ThreadPoolExecutor(self.workers) as threads:
            return list(threads.map(function, items))


@dataclass(frozen=True)
class SynthesisStep:
    """A step.

    name       unique in its pipeline
    run        (drafts, context) -> an outcome for each draft, in order
    version    raised with every change of what it does: the step and all later ones run again
    settings   JSON on which outcomes depend, such as limits and the fingerprint of a model
    whole      an outcome depends on the other drafts, too, such as that of a repeated draft
    decontaminates   drafts of test tasks are dropped; each pipeline has such a step
    """

    name: str
    run: Callable[[Sequence[SynthesisDraft], SynthesisContext], Sequence[DraftOutcome]]
    version: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    whole: bool = False
    decontaminates: bool = False


class StepRound(NamedTuple):
    """A step in a round: drafts, and an outcome for each."""

    round: int
    step: SynthesisStep
    drafts: tuple[SynthesisDraft, ...]
    outcomes: tuple[DraftOutcome, ...]

    @property
    def kept(self) -> tuple[SynthesisDraft, ...]:
        """Kept drafts, without repetitions."""
        return tuple({one.id: one for outcome in self.outcomes for one in outcome.kept}.values())


def kept(draft: SynthesisDraft, *more: SynthesisDraft) -> DraftOutcome:
    """The outcome with kept drafts."""
    return DraftOutcome((draft, *more))


def dropped(reason: str) -> DraftOutcome:
    """The outcome without a kept draft; the funnel counts the reason, a few words without details."""
    return DraftOutcome((), reason)


def spent_on(calls: Sequence[AskRecord]) -> tuple[dict[str, Any], ...]:
    """Describe questions for the provenance: prompt, answerer, tokens, cost and failure. Seconds vary: left out."""
    return tuple(
        {
            "role": one.role,
            "prompt": one.prompt,
            "by": one.answer.by,
            "read": one.answer.spent.read,
            "written": one.answer.spent.written,
            "cost": one.answer.spent.cost,
            "failure": one.answer.failure or ("unreadable" if one.value is None else ""),
        }
        for one in calls
    )
