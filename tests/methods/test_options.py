import json
from functools import partial
from typing import Literal

import pytest
import torch

from handaxe.core.errors import MethodError
from handaxe.methods.options import REQUIRED, Option, dump_options, options_of, read_options, unwrapped


def example(
    base, *, steps: int = 30, kind: Literal["a", "b"] = "a", sizes: tuple[int, ...] = (1, 2), model: str | None = None
):
    return base, steps


def test_a_signature_becomes_options_and_what_comes_by_position_is_none():
    assert options_of(example)[0] == Option("steps", int, 30)
    assert [one.name for one in options_of(example)] == ["steps", "kind", "sizes", "model"]
    assert [one.name for one in options_of(example, given=("steps",))] == ["kind", "sizes", "model"]


def test_a_partial_sets_defaults():
    twice = partial(partial(example, steps=3, kind="b"), steps=4)
    assert unwrapped(twice) == (example, {"steps": 4, "kind": "b"})
    assert [one.default for one in options_of(twice)] == [4, "b", (1, 2), None]


def test_a_class_that_a_command_line_cannot_write_is_written_as_text():
    class Engine:
        def __init__(self, model, *, device: str | torch.device = "cpu", rows: int | None = 3):
            pass

    assert options_of(Engine) == [Option("device", str, "cpu"), Option("rows", int | None, 3)]


def test_an_argument_without_type():
    def untyped(*, steps=3):
        return {}

    with pytest.raises(MethodError, match="'steps' of untyped needs a type"):
        options_of(untyped)


def test_an_argument_without_default_is_required():
    def world(*, file: str):
        return file

    (one,) = options_of(world)
    assert one.default is REQUIRED
    with pytest.raises(MethodError, match="world mine needs file"):
        read_options([one], {}, whose="world mine")


def test_what_was_chosen_survives_json():
    options = options_of(example)
    chosen = {"steps": 3, "kind": "b", "sizes": (4, 5), "model": None}
    assert read_options(options, json.loads(json.dumps(dump_options(options, chosen))), whose="it") == chosen
    assert read_options(options, {"steps": 3}, whose="it")["sizes"] == (1, 2)


def test_what_was_saved_and_no_longer_fits():
    with pytest.raises(MethodError, match="recipe x takes no argument gone"):
        read_options(options_of(example), {"gone": 1}, whose="recipe x")
    with pytest.raises(MethodError, match="do not fit recipe x"):
        read_options(options_of(example), {"kind": "z"}, whose="recipe x")


def test_a_value_that_does_not_fit_is_told_in_one_line():
    def recipe(*, smooth: float = 1.0):
        raise AssertionError

    with pytest.raises(MethodError, match=r"smooth is 'much' \(Input should be a valid number") as raised:
        read_options(options_of(recipe), {"smooth": "much"}, whose="recipe otc")
    assert "\n" not in str(raised.value)
