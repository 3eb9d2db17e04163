import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from handaxe.core.errors import InputError
from handaxe.tools.text import explain_validation, to_text


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
