"""A step judge that is a question to a language model about each turn."""

from __future__ import annotations

import numpy as np

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import probability
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Group, Trajectory
from handaxe.judges.question_fields import question_fields

__all__ = ["AskedSteps", "asked_steps"]


def asked_steps(*, desk: AskDesk, prompt: str = "step", low: float = -1.0, high: float = 1.0) -> AskedSteps:
    """Make a judge that asks a language model whether each turn was right.

        r_k = low + (high - low) P(yes) / (P(yes) + P(no))

    Args:
        desk: answers the questions.
        prompt: with labels yes and no, and fields of `question_fields` without a criterion.
        low, high: scores of a certain no and of a certain yes.

    Returns:
        A judge and StepJudge; the score of a rollout is the sum over its steps. Does not learn.

    Raises:
        InputError: low is not below high; while scoring, a prompt with other labels or fields.
        VerifierError: while scoring, a question without an answer: the trajectory is not scored.

    Example:
        P(yes) 0.75 and 0.1 of all mass on both answers  ->  steps 0.5, -0.8; score -0.3

    Idea: a generative verifier whose score is the probability of its verdict, without sampling.
    """
    if not low < high:
        raise InputError(f"low is {low} and high {high}; give a low below high")
    return AskedSteps(desk, prompt, low, high)


class AskedSteps:
    """See `asked_steps`."""

    def __init__(self, desk: AskDesk, prompt: str, low: float, high: float):
        self._desk = desk
        self._prompt = prompt
        self._low, self._high = low, high

    def score(self, group: Group) -> np.ndarray:
        """[G]: sums over steps."""
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling, all questions at once."""
        found = iter(
            self._desk.ask([self.question(one, k) for one in group for k in range(len(one.turns))], probability())
        )
        return tuple(
            np.array([self._score(next(found), one, k) for k in range(len(one.turns))], np.float64) for one in group
        )

    def question(self, trajectory: Trajectory, turn: int) -> Ask:
        """The question about one turn."""
        prompt = find_prompt(self._prompt, terse=self._desk.answerer.terse)
        return Ask(prompt, question_fields(prompt, trajectory, turn, None), about=(trajectory.id, turn, ""))

    def _score(self, found: float | NoAnswer, trajectory: Trajectory, turn: int) -> float:
        if isinstance(found, NoAnswer):
            raise VerifierError(
                f"the judge gave no verdict on turn {turn + 1}: {found.reason} {found.text[:200]!r}",
                trajectory=trajectory.id,
            )
        return self._low + (self._high - self._low) * found
