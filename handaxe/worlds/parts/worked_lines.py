"""Lines of a worked sum: remaining terms, and correctness by sympy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory, Turn

__all__ = ["BACK", "LINE", "remaining", "sum_equals", "verdicts"]

BACK = "no"
"""Takes the last line back."""
LINE = re.compile(r"(\d{1,6}(?:\+\d{1,6})+)=(\d{1,6})")
SUM = re.compile(r"\d{1,6}(?:\+\d{1,6})*")
PARITIES = ("even", "odd")


def remaining(expression: str, line: str) -> str | None:
    """Return the rest of a sum after a line, correct or not. Return None if the line does not begin with the sum's
    numbers.

    Example:
        ("4+7+3", "4+7=12") -> "12+3"; ("12+3", "12+3=15") -> "15"; ("4+7+3", "7+3=10") -> None
    """
    found = LINE.fullmatch(line)
    if found is None or not f"{expression}+".startswith(f"{found[1]}+"):
        return None
    return found[2] + expression[len(found[1]) :]


def sum_equals(total: str, value: str) -> bool:
    """Check with sympy whether a sum has a value or a parity. Neither text is evaluated as code.

    Raises:
        InputError: sympy is missing.

    Example:
        ("4+7", "11") -> True; ("4+7", "odd") -> True; ("4+7", "12") -> False
    """
    sympy = _sympy()
    if not SUM.fullmatch(total):
        return False
    made = sympy.Add(*(sympy.Integer(term) for term in total.split("+")))
    if value in PARITIES:
        return bool(made.is_odd) == (value == "odd")
    return bool(re.fullmatch(r"\d{1,6}", value)) and bool(sympy.Eq(made, sympy.Integer(value)))


def verdicts(trajectory: Trajectory) -> np.ndarray:
    """Judge each turn alone: 1 for correct, -1 for incorrect.

        a line         1 if its two sides are equal
        "no"           1 if the line that it takes back was incorrect
        an answer      1 if it is true of the remaining sum (of the question or the last standing line)
        anything else  -1: refused, malformed, cut, or several calls with an incorrect one

    The inputs are the question and the written lines; the task's answer and metadata are not read. A correct line after
    an incorrect one is correct: the step is judged.

    Returns:
        [N] float64.

    Example:
        "4+7+3=?": "4+7=12", "12+3=15", the answer 15 -> -1, 1, 1
    """
    found = SUM.match(trajectory.task.messages[-1].content)
    lines = [(found[0] if found else "", True)]
    return np.array([_verdict(turn, lines) for turn in trajectory.turns], np.float64)


def _verdict(turn: Turn, lines: list[tuple[str, bool]]) -> float:
    """Judge a turn; `lines` is (remaining sum, correctness of the line) for each standing line."""
    if turn.parsed.errors or turn.finish != "stop":
        return -1.0
    if not turn.parsed.calls:
        return 1.0 if sum_equals(lines[-1][0], turn.parsed.text.strip()) else -1.0
    correct = len(turn.replies) == len(turn.parsed.calls)
    for call, reply in zip(turn.parsed.calls, turn.replies):
        text = str(call.arguments.get("text", "")).strip()
        rest = remaining(lines[-1][0], text)
        if reply.status != "ok":
            correct = False
        elif text == BACK and len(lines) > 1:
            correct = not lines.pop()[1] and correct
        elif rest is not None:
            total, _, value = text.partition("=")
            lines.append((rest, sum_equals(total, value)))
            correct = lines[-1][1] and correct
    return 1.0 if correct else -1.0


def _sympy() -> Any:
    try:
        import sympy
    except ImportError as error:
        raise InputError('the lines of worked_steps are checked by sympy: pip install "handaxe[sandbox]"') from error
    return sympy
