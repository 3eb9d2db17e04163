"""Text and images of tool results, and text of validation errors."""

import math
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from handaxe.core.errors import InputError
from handaxe.core.images import Image, join_images
from handaxe.tools.definition import Billed

__all__ = ["Content", "explain_validation", "to_billed", "to_content", "to_text"]


class Content(NamedTuple):
    """Text of a result, with one placeholder for each of its images."""

    text: str
    images: tuple[Image, ...] = ()


def to_billed(value: Any) -> Billed:
    """Convert a tool's return value to a bill whose value is a `Content`; a plain value costs nothing.

    Raises:
        InputError: the value is neither image nor JSON, or cost or seconds are not finite or negative.
    """
    bill = value if isinstance(value, Billed) else Billed(value)
    for name, number in (("cost", bill.cost), ("seconds", 0.0 if bill.seconds is None else bill.seconds)):
        if not isinstance(number, int | float) or not 0 <= number < math.inf:
            raise InputError(f"the tool billed {name}={number!r}; give a finite number of at least 0")
    return bill._replace(value=to_content(bill.value))


def to_content(value: Any) -> Content:
    """Convert an image, or a list of images and strings, to text with placeholders; any other value as `to_text` does.

    Raises:
        InputError: a list with an image has an element that is neither image nor string, or `to_text` raises.
    """
    parts = [value] if isinstance(value, Image) else value
    if not isinstance(parts, list | tuple) or not any(isinstance(part, Image) for part in parts):
        return Content(to_text(value))
    others = [type(part).__name__ for part in parts if not isinstance(part, str | Image)]
    if others:
        raise InputError(f"the tool returned images beside a {others[0]}: return a list of images and strings only")
    return Content(*join_images(*parts))


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
