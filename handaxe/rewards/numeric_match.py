"""Rewards a numeric answer within a tolerance."""

import re
from collections.abc import Callable
from fractions import Fraction

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import last_number
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["numeric_match"]

# Bounded, so that "1e999999999" of a policy costs nothing to parse.
DECIMAL = r"[+-]?(?:[0-9]{1,100}(?:\.[0-9]{0,100})?|\.[0-9]{1,100})(?:[eE][+-]?[0-9]{1,3})?"
WHOLE = re.compile(rf"{DECIMAL}|[+-]?[0-9]{{1,100}}\s*/\s*[0-9]{{1,100}}")


def numeric_match(
    *, extract: Callable[[Trajectory], str] = last_number, abs_tol: float = 1e-6, rel_tol: float = 0.0
) -> Reward:
    """Give 1 for an answer equal to a reference number within a tolerance, else 0.

        R_i = 1 if |x_i - g| <= max(abs_tol, rel_tol * |g|) for a reference g, else 0

    x_i is the whole extracted text as a number: a decimal, a fraction such as 3/4, with or without thousands
    separators, a leading $ or a trailing %. The comparison is exact, so integers of any size are distinguished.

    Args:
        extract: the answer text; default the last number of the final text.
        abs_tol: >= 0. TAPO uses 1e-3 for its calculator tasks.
        rel_tol: >= 0. TAPO uses 0.05 for its complex tasks.

    Returns:
        A reward with outcome [G] of 0 and 1. Text that is no number scores 0.

    Raises:
        TaskError: the task has no answer, or an answer that is not a number.

    Example:
        answer 12.5, abs_tol 1e-6; final texts "so it is 12.50", "12.4", "twelve"  ->  1, 0, 0

    Idea: compare numbers as numbers, not as text.
    """

    def score(trajectory: Trajectory) -> float:
        value = _read(extract(trajectory))
        for text in gold_answers(trajectory.task):
            gold = _read(text)
            if gold is None:
                raise TaskError(f"task {trajectory.task.id!r} has the answer {text!r}, which is not a number")
            if value is not None and abs(value - gold) <= max(Fraction(abs_tol), Fraction(rel_tol) * abs(gold)):
                return 1.0
        return 0.0

    return outcome(score)


def _read(text: str) -> Fraction | None:
    digits = text.strip().removeprefix("$").removesuffix("%").replace(",", "").strip()
    if not WHOLE.fullmatch(digits):
        return None
    above, _, below = digits.partition("/")
    if not below:
        return Fraction(above)
    return Fraction(int(above), int(below)) if int(below) else None
