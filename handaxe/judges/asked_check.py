"""A check of criteria that a language model answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import probability
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Trajectory
from handaxe.judges.question_fields import question_fields

__all__ = ["asked_check", "check_question"]


def check_question(desk: AskDesk, prompt: str, trajectory: Trajectory, turn: int, criterion: Criterion) -> Ask:
    """The question about one criterion after one turn, in the variant of the prompt for the model of the desk."""
    found = find_prompt(prompt, terse=desk.answerer.terse)
    about = (trajectory.id, turn, criterion.name)
    return Ask(found, question_fields(found, trajectory, turn, criterion), about=about)


def asked_check(*, desk: AskDesk, prompt: str = "check", threshold: float = 0.5) -> Check:
    """Make a check that asks a language model after each turn whether each open criterion is met.

        met_cn = P(yes) / (P(yes) + P(no)) > threshold

    A met criterion stays met, without further questions.

    Args:
        desk: answers the questions.
        prompt: with labels yes and no, and fields of `question_fields`.
        threshold: between 0 and 1.

    Returns:
        A `protocols.Check`: (trajectory, criteria) -> [C, N] bool.

    Raises:
        InputError: a threshold out of range; while checking, a prompt with other labels or fields.
        VerifierError: while checking, a question without an answer: the trajectory is not scored.

    Example:
        P(yes) 0.2, 0.7, 0.1 after three turns  ->  [[False, True, True]], and the third is not asked

    Paper: arXiv:2602.12268 (CM2), a language model checks criteria.
    Differs: an answer has no evidence.
    """
    if not 0 < threshold < 1:
        raise InputError(f"threshold is {threshold}; give a number between 0 and 1")
    read = probability()

    def check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        met_CN = np.zeros((len(criteria), len(trajectory.turns)), bool)
        for turn in range(len(trajectory.turns)):
            open_criteria = [c for c in range(len(criteria)) if not met_CN[c, turn]]
            asks = [check_question(desk, prompt, trajectory, turn, criteria[c]) for c in open_criteria]
            for c, found in zip(open_criteria, desk.ask(asks, read), strict=True):
                if isinstance(found, NoAnswer):
                    raise VerifierError(
                        f"the judge gave no verdict on criterion {criteria[c].name!r} after turn {turn + 1}: "
                        f"{found.reason} {found.text[:200]!r}",
                        trajectory=trajectory.id,
                    )
                met_CN[c, turn:] = found > threshold
        return met_CN

    return check
