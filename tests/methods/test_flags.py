import json
from functools import partial
from typing import Literal

import pytest
import torch

from handaxe.core.errors import MethodError
from handaxe.methods.flags import REQUIRED, Option, dump_options, flag, list_options, read_options, unwrap_partial


def example(
    base, *, steps: int = 30, kind: Literal["a", "b"] = "a", sizes: tuple[int, ...] = (1, 2), model: str | None = None
):
    return base, steps


def test_flag_has_dashes():
    assert flag("group_size") == "--group-size"


def test_options_of_lists_keyword_arguments_without_positional_ones():
    assert list_options(example)[0] == Option("steps", int, 30)
    assert [one.name for one in list_options(example)] == ["steps", "kind", "sizes", "model"]
    assert [one.name for one in list_options(example, given=("steps",))] == ["kind", "sizes", "model"]


def test_partial_sets_defaults():
    twice = partial(partial(example, steps=3, kind="b"), steps=4)
    assert unwrap_partial(twice) == (example, {"steps": 4, "kind": "b"})
    assert [one.default for one in list_options(twice)] == [4, "b", (1, 2), None]


def test_union_of_text_and_a_class_becomes_text():
    class Engine:
        def __init__(self, model, *, device: str | torch.device = "cpu", rows: int | None = 3):
            pass

    assert list_options(Engine) == [Option("device", str, "cpu"), Option("rows", int | None, 3)]


def test_argument_without_type_raises():
    def untyped(*, steps=3):
        return {}

    with pytest.raises(MethodError, match="'steps' of untyped needs a type"):
        list_options(untyped)


def test_argument_without_default_is_required():
    def world(*, file: str):
        return file

    (one,) = list_options(world)
    assert one.default is REQUIRED
    with pytest.raises(MethodError, match="world mine needs file"):
        read_options([one], {}, owner="world mine")


def test_values_round_trip_through_json():
    options = list_options(example)
    values = {"steps": 3, "kind": "b", "sizes": (4, 5), "model": None}
    assert read_options(options, json.loads(json.dumps(dump_options(options, values))), owner="it") == values
    assert read_options(options, {"steps": 3}, owner="it")["sizes"] == (1, 2)


def test_saved_options_of_another_version_raise():
    with pytest.raises(MethodError, match="method x takes no argument gone"):
        read_options(list_options(example), {"gone": 1}, owner="method x")
    with pytest.raises(MethodError, match="do not fit method x"):
        read_options(list_options(example), {"kind": "z"}, owner="method x")


def test_value_of_another_type_raises_in_one_line():
    def method(*, smooth: float = 1.0):
        raise AssertionError

    with pytest.raises(MethodError, match=r"smooth is 'much' \(Input should be a valid number") as raised:
        read_options(list_options(method), {"smooth": "much"}, owner="method otc")
    assert "\n" not in str(raised.value)
