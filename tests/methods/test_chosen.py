import json

import pytest

from handaxe.errors import InputError, RecipeError
from handaxe.methods.chosen import Chosen, choice, is_root, of_base, recipe_of
from handaxe.methods.method import Method, Recipe
from handaxe.recipes.base.grpo import grpo
from handaxe.recipes.base.plain import plain


def test_a_recipe_brings_its_base_world_and_setting():
    made = choice("retool")
    assert (made.base.name, made.world.name, made.engine.name) == ("ppo", "gym", "local")
    chosen = made.default()
    assert chosen.options["base"]["lam"] == 1.0 and chosen.setting.tools == ("python",)
    assert choice("otc").world.name == "sums"


def test_another_base_and_world():
    made = choice("retool", base="grpo", world="sums")
    assert made.base.make is grpo and made.world.name == "sums"
    assert list(made.default().options["base"]) == ["kl_coefficient"]


def test_naming_the_recipes_own_base_changes_nothing():
    assert choice("retool", base="ppo").default().options == choice("retool").default().options


def test_the_root():
    assert is_root(plain) and not is_root(grpo)
    assert choice("plain").base is None
    with pytest.raises(InputError, match="leave --base out"):
        choice("plain", base="grpo")
    with pytest.raises(InputError, match="has no base"):
        of_base(choice("plain").default())


def test_what_a_claim_is_measured_against_has_the_same_setting_and_world():
    chosen = choice("dapo").read({"steps": 7, "world.last_number": True, "base.kl_coefficient": 0.5})
    base = of_base(chosen)
    assert base.name == "grpo" and base.options[""] == {"kl_coefficient": 0.5}
    assert base.setting == chosen.setting and base.options["world"]["last_number"] is True
    assert base.choice.base.name == "plain" and of_base(base).name == "plain"
    assert of_base(of_base(base).choice and chosen).arguments()["base"] == "plain"


def test_arguments_survive_json():
    chosen = choice("dapo", world="sums").read({"steps": 7, "rounds": 2, "tools": ["python"], "world.easy": 0.25})
    saved = json.loads(json.dumps(chosen.arguments()))
    assert saved["base"] == "grpo" and saved["world.easy"] == 0.25 and saved["rounds"] == 2
    again = choice("dapo", base=saved["base"], world=saved["world"], engine=saved["engine"]).read(saved)
    assert isinstance(again, Chosen) and again == chosen


@pytest.mark.parametrize("saved", [{"gone": 1}, {"base.gone": 1}, {"steps": "many"}, {"nowhere.x": 1}])
def test_what_was_saved_and_no_longer_fits(saved):
    with pytest.raises(RecipeError):
        choice("dapo").read(saved)


def test_two_options_of_one_name():
    def greedy(base: Method, *, steps: int = 3) -> Method:
        return base

    made = choice("otc")
    made = made.__class__(
        made.recipe._replace(name="greedy", make=greedy), made.about, made.base, made.world, made.engine
    )
    with pytest.raises(RecipeError, match="recipe greedy has an argument 'steps', and so has every recipe: rename it"):
        made.check({})
    with pytest.raises(RecipeError, match="'smooth', and so has every run"):
        choice("otc").check({"smooth": "every run"})


def test_a_function_without_a_recipe_beside_it():
    assert recipe_of(lambda base: base) == Recipe()
