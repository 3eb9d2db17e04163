"""Tool calls in the place of a rationale's mental lookups and arithmetic."""

from __future__ import annotations

import re

from handaxe.core.errors import InputError
from handaxe.core.records import ToolCall

__all__ = ["grounded_call"]

CELL = re.compile(r"[a-z]\d")
EXPRESSION = re.compile(r"\d+(?:[-+*/]\d+)+")


def grounded_call(check: str) -> ToolCall:
    """Replace a lookup or a calculation by the call of a tool with the same result.

    Args:
        check: a cell, or an expression of whole numbers.

    Returns:
        A call of lookup or calculator.

    Raises:
        InputError: another text.

    Example:
        "b1" -> lookup of cell b1; "45+50" -> calculator of expression 45+50

    Paper: arXiv:2510.06217 (TaTToo), the third stage of its data: tools for manual lookups and calculations.
    Differs: the rationale is a line of known form; the paper's is the text of a language model.
    """
    if CELL.fullmatch(check):
        return ToolCall("lookup", {"cell": check})
    if EXPRESSION.fullmatch(check):
        return ToolCall("calculator", {"expression": check})
    raise InputError(f"no tool checks {check!r}: write a cell such as b1 or an expression such as 45+50")
