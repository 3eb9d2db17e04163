"""Text of tool results and of validation errors."""

import math
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from handaxe.core.errors import InputError
from handaxe.tools.definition import Billed

__all__ = ["explain_validation", "to_billed", "to_text"]


def to_billed(value: Any) -> Billed:
    """Convert a tool's return value to text with a bill; a plain value has no bill.

    Raises:
        InputError: the value has no JSON form, or cost or seconds are not finite or negative.
    """
    bill = value if isinstance(value, Billed) else Billed(value)
    for name, number in (("cost", bill.cost), ("seconds", 0.0 if bill.seconds is None else bill.seconds)):
        if not isinstance(number, int | float) or not 0 <= number < math.inf:
            raise InputError(f"the tool billed {name}={number!r}; give a finite number of at least 0")
    return bill._replace(value=to_text(bill.value))


def to_text(value: Any) -> str:
    """Return a string unchanged and any other value as JSON.

    Raises:
        InputError: the value has no JSON form.
    """
    if isinstance(value, str):
        return value
    try:
        return to_json(value, inf_nan_mode="strings").decode()
    except PydanticSerializationError as error:
        raise InputError(f"the tool returned a {type(value).__name__}, neither text nor JSON") from error


def explain_validation(error: ValidationError) -> str:
    """Describe invalid arguments, with at most five errors."""
    lines = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False)[:5]:
        place = ".".join(str(part) for part in problem["loc"]) or "arguments"
        what = "there is no such parameter" if problem["type"] == "extra_forbidden" else problem["msg"]
        lines.append(f"{place}: {what}")
    return "; ".join(lines)
