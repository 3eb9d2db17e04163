"""Description of the numbers that programs read, as a Python class with types."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.rewards.parts.turn_numbers import ABSENT
from handaxe.training.stages.parts.program_search import Brief

__all__ = ["numbers_class"]

LISTED = 5
"""Most distinct values that are listed; of more, the smallest and the largest are written."""
HEAD = '''The keys, with types and values of some turns:
class Numbers:
    """Numbers of a turn; {absent:g} where the environment reports none."""'''


def numbers_class(brief: Brief) -> str:
    """Describe the numbers of a request as a class.

        bool   all values are 0 or 1
        int    all values are whole numbers
        float  others, and numbers without a known value

    Args:
        brief: with names, and values on rollouts of the start.

    Returns:
        A class, a line a number. The value -1, for a missing number, decides no type.

    Example:
        ok with values 0 and 1, tokens with 0, 4, 9, 12, 17, 20 -> "ok: bool  # 0, 1" and "tokens: int  # 0 to 20"

    Paper: arXiv:2309.11489 (Text2Reward), the environment's description as classes with typed attributes.
    Differs: names and values come from rollouts; the paper's classes are written by people, with objects and methods.
    """
    lines = [f"    {name}: {_line(brief.values.get(name, ()))}" for name in brief.names]
    return "\n".join([HEAD.format(absent=ABSENT), *lines])


def _line(seen: Sequence[float]) -> str:
    values = [value for value in seen if value != ABSENT]
    if not values:
        return "float"
    kind = "bool" if set(values) <= {0.0, 1.0} else "int" if all(value == int(value) for value in values) else "float"
    if len(values) <= LISTED:
        return f"{kind}  # {', '.join(f'{value:g}' for value in values)}"
    return f"{kind}  # {min(values):g} to {max(values):g}"
