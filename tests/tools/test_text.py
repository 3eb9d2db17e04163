import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, Image
from handaxe.tools.definition import Billed
from handaxe.tools.text import explain_validation, to_billed, to_content, to_text


class Point(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: int
    y: int


def errors_of(values):
    with pytest.raises(ValidationError) as caught:
        Point.model_validate(values)
    return explain_validation(caught.value)


def test_results_become_text_or_json():
    assert to_text("as it is\n") == "as it is\n"
    assert to_text({"a": [1, 2.5, True, None]}) == '{"a":[1,2.5,true,null]}'
    assert to_text(float("nan")) == '"NaN"'
    with pytest.raises(InputError, match="a object, neither text nor JSON"):
        to_text(object())


def test_explain_validation_has_at_most_five_errors():
    assert errors_of({"x": 1}) == "y: Field required"
    assert errors_of({"x": 1, "y": 2, "z": 3}) == "z: there is no such parameter"
    assert errors_of({"x": 1, "y": 2} | dict.fromkeys("abcdefgh")).count(";") == 4
    assert errors_of(3).startswith("arguments: ")


IMAGE = Image.of(np.zeros((2, 3, 3), np.uint8))


def test_images_and_lists_with_images_become_placeholders():
    assert to_content("a") == ("a", ()) and to_content(["a", "b"]) == ('["a","b"]', ())
    assert to_content(IMAGE) == (PLACEHOLDER, (IMAGE,))
    assert to_content(["left ", IMAGE, " right ", IMAGE]) == (f"left {PLACEHOLDER} right {PLACEHOLDER}", (IMAGE, IMAGE))
    assert to_content((IMAGE, f"an {PLACEHOLDER}")) == (f"{PLACEHOLDER}an \ufffd", (IMAGE,))
    assert to_content(f"an {PLACEHOLDER}") == (f"an {PLACEHOLDER}", ())
    for value in ([IMAGE, 3], [IMAGE, None]):
        with pytest.raises(InputError, match="return a list of images and strings only"):
            to_content(value)
    with pytest.raises(InputError, match="a dict, neither text nor JSON"):
        to_content({"image": IMAGE})


def test_bills_of_images_keep_cost_and_seconds():
    bill = to_billed(Billed([IMAGE, "x"], cost=0.5, seconds=2.0))
    assert bill == Billed((f"{PLACEHOLDER}x", (IMAGE,)), 0.5, 2.0)
    assert to_billed("a").value.text == "a"
