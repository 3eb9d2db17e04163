import json

import pytest

from handaxe.commands.started import facts, started
from handaxe.errors import InputError, RecipeError


def rewrite(run, change):
    file = run / "recipe.json"
    about = json.loads(file.read_text())
    change(about)
    file.write_text(json.dumps(about))


def test_recipe_and_arguments_come_back_with_their_types(run, small_model):
    found = started(run)
    assert found.recipe.name == "otc" and found.command.startswith("handaxe train otc")
    assert found.arguments["tools"] == ("calculator",) and found.arguments["model"] == str(small_model)


def test_no_recipe(run):
    rewrite(run, lambda about: about.update(recipe=None))
    assert facts(run) is None
    with pytest.raises(InputError, match="not made by a recipe"):
        started(run)


def test_a_recipe_that_is_gone(run):
    rewrite(run, lambda about: about["recipe"].update(name="otcc"))
    with pytest.raises(RecipeError, match="did you mean otc"):
        started(run)


def test_a_damaged_file(run):
    (run / "recipe.json").write_text("{")
    with pytest.raises(InputError, match=r"recipe\.json is damaged"):
        started(run)
