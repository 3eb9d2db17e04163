"""What a tool's result, or arguments that do not fit, say to a policy."""

import math
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from handaxe.core.errors import InputError
from handaxe.tools.schema import Billed

__all__ = ["as_bill", "as_text", "explain"]


def as_bill(value: Any) -> Billed:
    """What a tool returned, as text and with what it bills; nothing where it returned a plain value.

    Raises:
        InputError: JSON cannot say the value, or cost or seconds are no finite number from 0.
    """
    bill = value if isinstance(value, Billed) else Billed(value)
    for name, number in (("cost", bill.cost), ("seconds", 0.0 if bill.seconds is None else bill.seconds)):
        if not isinstance(number, int | float) or not 0 <= number < math.inf:
            raise InputError(f"the tool billed {name}={number!r}; give a finite number that is not negative")
    return bill._replace(value=as_text(bill.value))


def as_text(value: Any) -> str:
    """A string as it is, anything else as JSON.

    Raises:
        InputError: JSON cannot say it.
    """
    if isinstance(value, str):
        return value
    try:
        return to_json(value, inf_nan_mode="strings").decode()
    except PydanticSerializationError as error:
        raise InputError(f"the tool returned a {type(value).__name__}, which is neither text nor JSON") from error


def explain(error: ValidationError) -> str:
    """What is wrong with the arguments, at most five complaints."""
    lines = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False)[:5]:
        place = ".".join(str(part) for part in problem["loc"]) or "arguments"
        what = "there is no such parameter" if problem["type"] == "extra_forbidden" else problem["msg"]
        lines.append(f"{place}: {what}")
    return "; ".join(lines)
