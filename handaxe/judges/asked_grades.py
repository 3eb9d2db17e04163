"""A judge that asks a language model for a grade of each answer."""

from __future__ import annotations

import numpy as np

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import expected
from handaxe.core.errors import VerifierError
from handaxe.core.records import Group, Trajectory
from handaxe.judges.question_fields import question_fields

__all__ = ["AskedGrades", "asked_grades"]


def asked_grades(*, desk: AskDesk, prompt: str = "grade") -> AskedGrades:
    """Make a judge of answers beside the reference: the expected grade, as a share of the best one.

        score = sum_v v P(v) / (m sum_v P(v))        v = 0, 1, ..., m

    Args:
        desk: answers the questions.
        prompt: with grades as labels, and fields of `question_fields` without a criterion.

    Returns:
        A judge with scores in [0, 1]. Does not learn.

    Raises:
        InputError: while scoring, a prompt with other fields.
        VerifierError: while scoring, a question without an answer: the trajectory is not scored.

    Example:
        P(0) 0.1, P(5) 0.2 and P(10) 0.1 of grades up to 10  ->  0.5

    Idea: the expected score over likelihoods of grades, in the place of one sampled grade.
    """
    return AskedGrades(desk, prompt)


class AskedGrades:
    """See `asked_grades`."""

    def __init__(self, desk: AskDesk, prompt: str):
        self._desk = desk
        self._prompt = prompt

    def score(self, group: Group) -> np.ndarray:
        """[G], all questions at once."""
        asks = [self.question(one) for one in group]
        if not asks:
            return np.zeros(0)
        found = self._desk.ask(asks, expected(asks[0].prompt.weights))
        for one, value in zip(group, found, strict=True):
            if isinstance(value, NoAnswer):
                raise VerifierError(f"the judge gave no grade: {value.reason} {value.text[:200]!r}", trajectory=one.id)
        return np.array(found, np.float64)

    def question(self, trajectory: Trajectory) -> Ask:
        """The question about the answer of a rollout."""
        prompt = find_prompt(self._prompt, terse=self._desk.answerer.terse)
        last = max(len(trajectory.turns) - 1, 0)
        return Ask(prompt, question_fields(prompt, trajectory, last, None), about=(trajectory.id, last, "grade"))
