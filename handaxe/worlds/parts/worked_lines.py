"""Lines of a sum that is worked out step by step: what each leaves, and whether sympy finds it right."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory, Turn

__all__ = ["BACK", "LINE", "remaining", "sum_makes", "verdicts"]

BACK = "no"
"""Takes the last line back."""
LINE = re.compile(r"(\d{1,6}(?:\+\d{1,6})+)=(\d{1,6})")
SUM = re.compile(r"\d{1,6}(?:\+\d{1,6})*")
PARITIES = ("even", "odd")


def remaining(left: str, line: str) -> str | None:
    """What is left of a sum after a line, be it right or wrong; None where the line does not begin with its numbers.

    Example:
        ("4+7+3", "4+7=12") -> "12+3"; ("12+3", "12+3=15") -> "15"; ("4+7+3", "7+3=10") -> None
    """
    found = LINE.fullmatch(line)
    if found is None or not f"{left}+".startswith(f"{found[1]}+"):
        return None
    return found[2] + left[len(found[1]) :]


def sum_makes(total: str, value: str) -> bool:
    """Whether a sum makes this number, or has this parity, as sympy finds. Neither is ever evaluated as code.

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
    """Of every turn whether it is right by itself: 1, or -1.

        a line         its two sides are equal
        "no"           the line that it takes back was wrong
        an answer      it is true of what is left, as the question or the last line that stands has it
        anything else  -1: refused, malformed, cut, or several calls of which one is wrong

    It reads the question and what was written, and neither the task's answer nor its metadata. A right line after a
    wrong one is right: what is judged is the step.

    Returns:
        [N] float64.

    Example:
        "4+7+3=?": "4+7=12", "12+3=15", the answer 15 -> -1, 1, 1
    """
    found = SUM.match(trajectory.task.messages[-1].content)
    stands = [(found[0] if found else "", True)]
    return np.array([_verdict(turn, stands) for turn in trajectory.turns], np.float64)


def _verdict(turn: Turn, stands: list[tuple[str, bool]]) -> float:
    """Of one turn; `stands` is (what is left, whether the line that left it is right) for each line that stands."""
    if turn.parsed.errors or turn.finish != "stop":
        return -1.0
    if not turn.parsed.calls:
        return 1.0 if sum_makes(stands[-1][0], turn.parsed.text.strip()) else -1.0
    right = len(turn.replies) == len(turn.parsed.calls)
    for call, reply in zip(turn.parsed.calls, turn.replies):
        text = str(call.arguments.get("text", "")).strip()
        after = remaining(stands[-1][0], text)
        if reply.status != "ok":
            right = False
        elif text == BACK and len(stands) > 1:
            right = not stands.pop()[1] and right
        elif after is not None:
            total, _, value = text.partition("=")
            stands.append((after, sum_makes(total, value)))
            right = stands[-1][1] and right
    return 1.0 if right else -1.0


def _sympy() -> Any:
    try:
        import sympy
    except ImportError as error:
        raise InputError('the lines of worked_steps are checked by sympy: pip install "handaxe[sandbox]"') from error
    return sympy
