import json

import pytest

from handaxe.baselines.grpo import grpo
from handaxe.baselines.grpo_no_kl import grpo_no_kl
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.method import Method
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
    assert is_root(grpo_no_kl) and not is_root(grpo)
    assert run_template("grpo_no_kl").base is None
    with pytest.raises(InputError, match="leave --base out"):
        run_template("grpo_no_kl", base="grpo")
    with pytest.raises(InputError, match="has no base"):
        spec_of_base(run_template("grpo_no_kl").default())


def test_what_a_claim_is_measured_against_has_the_same_setting_and_world():
    chosen = run_template("dapo").read({"steps": 7, "world.last_number": True, "base.kl_coefficient": 0.5})
    base = spec_of_base(chosen)
    assert base.name == "grpo" and base.options[""] == {"kl_coefficient": 0.5}
    assert base.settings == chosen.settings and base.options["world"]["last_number"] is True
    assert base.template.base.name == "grpo_no_kl" and spec_of_base(base).name == "grpo_no_kl"
    assert spec_of_base(spec_of_base(base).template and chosen).arguments()["base"] == "grpo_no_kl"


def test_arguments_survive_json():
    chosen = run_template("dapo", world="sums").read({"steps": 7, "rounds": 2, "tools": ["python"], "world.easy": 0.25})
    saved = json.loads(json.dumps(chosen.arguments()))
    assert saved["base"] == "grpo" and saved["world.easy"] == 0.25 and saved["rounds"] == 2
    again = run_template("dapo", base=saved["base"], world=saved["world"], engine=saved["engine"]).read(saved)
    assert isinstance(again, RunSpec) and again == chosen


@pytest.mark.parametrize("saved", [{"gone": 1}, {"base.gone": 1}, {"steps": "many"}, {"nowhere.x": 1}])
def test_what_was_saved_and_no_longer_fits(saved):
    with pytest.raises(MethodError):
        run_template("dapo").read(saved)


def test_two_options_of_one_name():
    def greedy(base: Method, *, steps: int = 3) -> Method:
        return base

    made = run_template("otc")
    made = made.__class__(
        made.method._replace(name="greedy", make=greedy), made.page, made.base, made.world, made.engine
    )
    with pytest.raises(MethodError, match="method greedy has an argument 'steps', and so has every run: rename it"):
        made.check({})
    with pytest.raises(MethodError, match="'smooth', and so has every run"):
        run_template("otc").check({"smooth": "every run"})


def grpo_with_nothing_beside(base):
    return base


def test_function_without_a_page_beside_it_has_defaults():
    page = page_of(grpo_with_nothing_beside)
    assert (page.base, page.world, page.claims) == ("grpo_no_kl", "gym", ())
