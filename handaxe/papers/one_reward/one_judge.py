"""Study: one judge with tags of task and criterion, separate judges, and one judge without tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from handaxe.evaluation.policy_rollouts import HELD_OUT
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import column_figures
from handaxe.papers.one_reward.questions import PairQuestion, draw_questions
from handaxe.papers.one_reward.tagged_judge import TaggedJudge, Tags
from handaxe.worlds.canvas.edits import ASPECTS

__all__ = ["one_judge"]

GAINS = {
    "gain/tagged/untagged": ("right/tagged", "right/untagged"),
    "gain/tagged/separate": ("right/tagged", "right/separate"),
}


def one_judge(
    *, seeds: int = 6, questions: int = 450, held_out: int = 360, noise: float = 0.4, steps: int = 200
) -> StudyFunction:
    """Fit judges of edited drawings on questions of three tasks and three criteria, and count correct answers.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        right/JUDGE      share of held-out questions with the correct answer
        opposed/JUDGE    the same where another criterion prefers the other picture
        size/JUDGE       parameters
        gain/A/B         right of A less that of B, over equal seeds

    Judges: tagged (one, with task and criterion), separate (nine), untagged (one, without).

    Args:
        seeds: draws of questions, errors and weights, from the study's seed on.
        questions: training questions of a seed, for each judge or set of judges.
        held_out: questions that measure.
        noise: standard deviation of the annotators' errors.
        steps: of AdamW.

    Example:
        right 0.8 of tagged and 0.7 of untagged  ->  gain/tagged/untagged 0.1

    Paper: OneReward (paper 59), one reward model for several tasks and criteria.
    Differs: edited drawings with known qualities.
    """

    def measure(seed: int) -> dict[str, float]:
        columns = dict[str, list[float]]()
        for number in range(seed, seed + seeds):
            given = draw_questions(questions, seed=number, noise=noise)
            tested = draw_questions(held_out, seed=number + HELD_OUT)
            opposed = np.array([_opposed(one) for one in tested])
            yes = np.array([one.yes for one in tested])
            for name, fit in JUDGES.items():
                answers, size = fit(given, tested, number, steps)
                right = (answers > 0.5) == yes
                columns.setdefault(f"right/{name}", []).append(float(right.mean()))
                columns.setdefault(f"opposed/{name}", []).append(float(right[opposed].mean()))
                columns.setdefault(f"size/{name}", []).append(float(size))
        return column_figures(columns, GAINS)

    return measure


def _single(
    given: Sequence[PairQuestion], tested: Sequence[PairQuestion], seed: int, steps: int, *, tags: Tags
) -> tuple[np.ndarray, int]:
    judge = TaggedJudge(tags=tags, seed=seed)
    judge.fit(given, steps=steps)
    return judge.answers(tested), judge.size


def _separate(
    given: Sequence[PairQuestion], tested: Sequence[PairQuestion], seed: int, steps: int
) -> tuple[np.ndarray, int]:
    found, size = np.zeros(len(tested)), 0
    for tag in sorted({(one.kind, one.criterion) for one in given}):
        own = [one for one in given if (one.kind, one.criterion) == tag]
        place = [q for q, one in enumerate(tested) if (one.kind, one.criterion) == tag]
        found[place], parameters = _single(own, [tested[q] for q in place], seed, steps, tags="untagged")
        size += parameters
    return found, size


JUDGES: Mapping[str, Callable[[Sequence[PairQuestion], Sequence[PairQuestion], int, int], tuple[np.ndarray, int]]] = {
    "tagged": partial(_single, tags="tagged"),
    "separate": _separate,
    "untagged": partial(_single, tags="untagged"),
}
"""Name -> (training questions, held-out questions, seed, steps) -> (P(Yes) of the held-out ones, parameters)."""


def _opposed(ask: PairQuestion) -> bool:
    """True if another criterion prefers the picture that this one does not."""
    gaps = {name: getattr(ask.first, name) - getattr(ask.second, name) for name in ASPECTS}
    own = gaps[ask.criterion]
    return any(own * gap < 0 for gap in gaps.values())
