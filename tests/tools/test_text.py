import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from handaxe.core.errors import InputError
from handaxe.tools.text import as_text, explain


class Point(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: int
    y: int


def complaints(values):
    with pytest.raises(ValidationError) as caught:
        Point.model_validate(values)
    return explain(caught.value)


def test_results_as_text():
    assert as_text("as it is\n") == "as it is\n"
    assert as_text({"a": [1, 2.5, True, None]}) == '{"a":[1,2.5,true,null]}'
    assert as_text(float("nan")) == '"NaN"'
    with pytest.raises(InputError, match="a object, which is neither text nor JSON"):
        as_text(object())


def test_what_is_wrong_is_said_at_most_five_times():
    assert complaints({"x": 1}) == "y: Field required"
    assert complaints({"x": 1, "y": 2, "z": 3}) == "z: there is no such parameter"
    assert complaints({"x": 1, "y": 2} | dict.fromkeys("abcdefgh")).count(";") == 4
    assert complaints(3).startswith("arguments: ")
