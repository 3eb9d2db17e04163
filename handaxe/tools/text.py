"""What a tool's result, or arguments that do not fit, say to a policy."""

from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from handaxe.errors import InputError

__all__ = ["as_text", "explain"]


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
