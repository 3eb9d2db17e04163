import json

import pytest
from handaxe.baselines.grpo.method import grpo
from handaxe.baselines.grpo_no_kl.method import plain

from handaxe.core.errors import InputError, RecipeError
from handaxe.methods.method import Method, Recipe
from handaxe.methods.run_spec import RunSpec, is_root, page_of, run_template, spec_of_base


def test_a_recipe_brings_its_base_world_and_setting():
    made = run_template("retool")
    assert (made.base.name, made.world.name, made.engine.name) == ("ppo", "gym", "local")
    chosen = made.default()
    assert chosen.options["base"]["lam"] == 1.0 and chosen.settings.tools == ("python",)
    assert run_template("otc").world.name == "sums"


def test_another_base_and_world():
    made = run_template("retool", base="grpo", world="sums")
    assert made.base.make is grpo and made.world.name == "sums"
    assert list(made.default().options["base"]) == ["kl_coefficient"]


def test_naming_the_recipes_own_base_changes_nothing():
    assert run_template("retool", base="ppo").default().options == run_template("retool").default().options


def test_the_root():
    assert is_root(plain) and not is_root(grpo)
    assert run_template("plain").base is None
    with pytest.raises(InputError, match="leave --base out"):
        run_template("plain", base="grpo")
    with pytest.raises(InputError, match="has no base"):
        spec_of_base(run_template("plain").default())


def test_what_a_claim_is_measured_against_has_the_same_setting_and_world():
    chosen = run_template("dapo").read({"steps": 7, "world.last_number": True, "base.kl_coefficient": 0.5})
    base = spec_of_base(chosen)
    assert base.name == "grpo" and base.options[""] == {"kl_coefficient": 0.5}
    assert base.settings == chosen.settings and base.options["world"]["last_number"] is True
    assert base.template.base.name == "plain" and spec_of_base(base).name == "plain"
    assert spec_of_base(spec_of_base(base).template and chosen).arguments()["base"] == "plain"


def test_arguments_survive_json():
    chosen = run_template("dapo", world="sums").read({"steps": 7, "rounds": 2, "tools": ["python"], "world.easy": 0.25})
    saved = json.loads(json.dumps(chosen.arguments()))
    assert saved["base"] == "grpo" and saved["world.easy"] == 0.25 and saved["rounds"] == 2
    again = run_template("dapo", base=saved["base"], world=saved["world"], engine=saved["engine"]).read(saved)
    assert isinstance(again, RunSpec) and again == chosen


@pytest.mark.parametrize("saved", [{"gone": 1}, {"base.gone": 1}, {"steps": "many"}, {"nowhere.x": 1}])
def test_what_was_saved_and_no_longer_fits(saved):
    with pytest.raises(RecipeError):
        run_template("dapo").read(saved)


def test_two_options_of_one_name():
    def greedy(base: Method, *, steps: int = 3) -> Method:
        return base

    made = run_template("otc")
    made = made.__class__(
        made.recipe._replace(name="greedy", make=greedy), made.about, made.base, made.world, made.engine
    )
    with pytest.raises(RecipeError, match="recipe greedy has an argument 'steps', and so has every recipe: rename it"):
        made.check({})
    with pytest.raises(RecipeError, match="'smooth', and so has every run"):
        run_template("otc").check({"smooth": "every run"})


def test_a_function_without_a_recipe_beside_it():
    assert page_of(lambda base: base) == Recipe()
