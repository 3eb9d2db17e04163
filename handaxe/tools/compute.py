"""Arithmetic step with three parameters, for rewards on the arguments of a call."""

import operator as op
from collections.abc import Callable
from typing import Annotated, Literal

from handaxe.core.errors import Retry
from handaxe.tools.calculator import MAX_BITS
from handaxe.tools.decorator import tool

__all__ = ["compute"]

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": op.add,
    "-": op.sub,
    "*": op.mul,
    "//": op.floordiv,
    "%": op.mod,
}


@tool(timeout=None, max_chars=4_000)
def compute(
    left: Annotated[int, "the first number"],
    operator: Annotated[Literal["+", "-", "*", "//", "%"], "what to do with them"],
    right: Annotated[int, "the second number"],
) -> str:
    """Calculate with two whole numbers.

    Raises:
        Retry: it divides by zero, or the result has more than about 3900 digits.

    Example:
        compute(12, "*", 34) is "408".
    """
    if operator in ("//", "%") and right == 0:
        raise Retry(f"{left}{operator}0 divides by zero")
    result = OPERATORS[operator](left, right)
    if result.bit_length() > MAX_BITS:
        raise Retry("the result is too large")
    return str(result)
