"""Stage that teaches a judge on questions that a rule has answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from handaxe.asking.ask import Ask
from handaxe.core.errors import InputError
from handaxe.core.protocols import Source, Stage, StageContext
from handaxe.core.records import Trajectory
from handaxe.ops.seeds import derive_seed

__all__ = ["Labelled", "NO", "YES", "balanced", "teach_judge"]

Labelled = tuple[Ask, str]
"""A question, and the rule's answer, a label of its prompt."""
YES, NO = "yes", "no"
MAJORITY = 3
"""Labels of the frequent answer, at most, for each of the rare one."""


def balanced(found: Sequence[Labelled], *, most: int) -> list[Labelled]:
    """Choose labelled questions by their content: of the rarest answer as many as there are, up to its part of `most`,
    and of each other one at most three times as many.

    Example:
        10 yes and 90 no, most 100  ->  10 yes and 30 no;  60 yes and 40 no, most 20  ->  10 and 10
    """
    order = sorted(found, key=lambda pair: derive_seed("label", pair[0].key("")))
    classes = sorted(([one for one in order if one[1] == label] for label in {label for _, label in found}), key=len)
    chosen = list[Labelled]()
    for left, own in zip(range(len(classes), 0, -1), classes, strict=True):
        part = (most - len(chosen)) // left
        chosen += own[: min(part, MAJORITY * len(classes[0]))]
    return chosen


def teach_judge(
    *, judge: Any, source: Source, labels: Callable[[Trajectory], Sequence[Labelled]], most: int = 512
) -> Stage:
    """Make a stage that teaches a judge; the policy stays unchanged. A resumed run teaches again, from the record.

    Args:
        judge: is bound to the policy, and has `teach` (see `judges.taught_answerer`), or `fit` (see
            `asking.fitted_head`).
        source: of groups.
        labels: of a rollout.
        most: labelled questions, see `balanced`.

    Returns:
        A stage: metrics of the teaching, with questions, the number of labelled questions that were there.

    Raises:
        InputError: the rule has labelled no question.
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        judge.bind(site.engine, site.format)
        found = [pair for rated in source(site) for one in rated.group for pair in labels(one)]
        if not found:
            raise InputError(
                "there is nothing to teach the judge on: the world has no rule for it, or no rollout a turn"
            )
        chosen = balanced(found, most=most)
        asks, answers = [ask for ask, _ in chosen], [label for _, label in chosen]
        made = judge.made
        if hasattr(made, "fit"):
            rows = [{"step": 0.0, **made.fit(asks, answers)}]
        else:
            rows = made.teach(site, asks, answers)
        return [{**row, "questions": float(len(found))} for row in rows]

    return stage
