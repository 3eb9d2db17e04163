from typing import Literal

import pytest

from handaxe.commands.configure import configuration_class, from_json, parse, to_json
from handaxe.errors import RecipeError
from handaxe.recipes.paper import Recipe


def example(
    *, steps: int = 30, kind: Literal["a", "b"] = "a", sizes: tuple[int, ...] = (1, 2), model: str | None = None
) -> dict:
    """Do something.

    Args:
        steps: how many steps are taken.
        sizes: of what.
    """
    return {"steps": steps}


RECIPE = Recipe("example", example, None, None, "nowhere")


def parsed(*words):
    found = parse({"configuration": configuration_class(example)}, list(words), prog="p", description="d")
    return vars(found["configuration"])


def test_a_signature_becomes_options():
    assert parsed() == {"steps": 30, "kind": "a", "sizes": (1, 2), "model": None}
    words = ("--steps", "3", "--kind", "b", "--sizes", "4", "5", "6", "--model", "m")
    assert parsed(*words) == {"steps": 3, "kind": "b", "sizes": (4, 5, 6), "model": "m"}


@pytest.mark.parametrize("words", [("--stepz", "3"), ("--steps", "three"), ("--kind", "c"), ("stray",)])
def test_what_does_not_parse_exits_with_2(words, capsys):
    with pytest.raises(SystemExit) as stop:
        parsed(*words)
    assert stop.value.code == 2
    shown = capsys.readouterr()
    assert words[-1] in shown.out + shown.err


def test_help_holds_the_docstring_of_each_argument(capsys):
    with pytest.raises(SystemExit) as stop:
        parsed("--help")
    assert stop.value.code == 0
    assert "how many steps are taken" in capsys.readouterr().out


def test_only_some_arguments():
    assert list(vars(configuration_class(example, only=frozenset({"steps"}))())) == ["steps"]


def test_an_argument_without_type_or_default_is_the_recipes_mistake():
    def untyped(*, steps=3):
        return {}

    def required(*, steps: int):
        return {}

    for build in (untyped, required):
        with pytest.raises(RecipeError, match="'steps'"):
            configuration_class(build)


def test_arguments_survive_json():
    import json

    arguments = {"steps": 3, "kind": "b", "sizes": (4, 5), "model": None}
    assert from_json(RECIPE, json.loads(json.dumps(to_json(RECIPE, arguments)))) == arguments


def test_saved_arguments_that_no_longer_fit():
    with pytest.raises(RecipeError, match="gone"):
        from_json(RECIPE, {"gone": 1})
    with pytest.raises(RecipeError, match="example"):
        from_json(RECIPE, {"kind": "z"})
