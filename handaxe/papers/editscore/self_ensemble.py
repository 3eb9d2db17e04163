"""Judge of edits by the mean of several sampled scores.

Legend: N pictures, K passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.images import Image
from handaxe.core.records import Group
from handaxe.papers.editscore.edit_questions import GRADES, EditQuestion, edit_questions
from handaxe.papers.editscore.overall import overall, read_grades
from handaxe.worlds.canvas.edits import EditRequest
from handaxe.worlds.canvas.rollout_edits import last_picture, request_of

__all__ = ["Grader", "SelfEnsemble", "self_ensemble"]

Grader = Callable[[Sequence[EditQuestion], int], Sequence[str]]
"""(questions, number of the sample) -> a text for each question."""


def self_ensemble(*, grader: Grader, passes: int = 4, best: int = 25, tries: int = 3) -> SelfEnsemble:
    """Make a judge of edits by the mean of the overall scores of K passes.

        O_k   = sqrt(SC_k PQ_k) of the grades of pass k, each sampled by a draw of its own
        score = mean over readable passes of O_k

    An answer without the grades is asked again, with another draw.

    Args:
        grader: samples answers; a greedy one gives the same answer in each pass.
        passes: K, >= 1; 4 in the paper.
        best: highest grade.
        tries: answers to a question at most, >= 1; 3 in the released code.

    Returns:
        A judge with scores 0 to 10; it does not learn.

    Raises:
        InputError: a number below 1.
        VerifierError: while scoring, an edit without a readable pass.

    Example:
        overall scores 6 and 8 of two passes  ->  7

    Paper: EditScore (paper 63), self-ensemble with K = 4.
    Differs: nothing known.
    """
    if min(passes, best, tries) < 1:
        raise InputError(f"passes is {passes}, best {best} and tries {tries}; give 1 or more")
    return SelfEnsemble(grader, passes, best, tries)


class SelfEnsemble:
    """See `self_ensemble`."""

    def __init__(self, grader: Grader, passes: int, best: int, tries: int):
        self._grader = grader
        self._passes = passes
        self._best = best
        self._tries = tries

    def score(self, group: Group) -> np.ndarray:
        """[G] scores of the last images of rollouts of `canvas`."""
        found_GK = self.pass_scores([(last_picture(one), request_of(one.task)) for one in group])
        for one, own_K in zip(group, found_GK, strict=True):
            if np.isnan(own_K).all():
                raise VerifierError("no pass has grades that can be read", trajectory=one.id)
        return np.nanmean(found_GK, axis=1) if len(group) else np.zeros(0)

    def pass_scores(self, pictures: Sequence[tuple[Image, EditRequest]]) -> np.ndarray:
        """[N, K] overall scores of each pass; NaN for a pass without readable grades."""
        questions = [one for picture in pictures for one in edit_questions(*picture)]
        return np.array([self._pass(questions, k) for k in range(self._passes)]).reshape(self._passes, -1).T

    def _pass(self, questions: Sequence[EditQuestion], number: int) -> list[float]:
        grades = dict[int, tuple[int, ...]]()
        for attempt in range(self._tries):
            left = [q for q in range(len(questions)) if q not in grades]
            texts = self._grader([questions[q] for q in left], number + attempt * self._passes) if left else ()
            for q, text in zip(left, texts, strict=True):
                found = read_grades(text, count=GRADES[questions[q].about], best=self._best)
                grades |= {} if found is None else {q: found}
        return [self._overall(grades.get(q), grades.get(q + 1)) for q in range(0, len(questions), 2)]

    def _overall(self, consistency: tuple[int, ...] | None, quality: tuple[int, ...] | None) -> float:
        if consistency is None or quality is None:
            return float("nan")
        return overall(consistency, quality, best=self._best)
